// Tools whose schema a provider refuses: found, set aside, told, and offered again when they change.
import { expect } from "vitest";
import { isJsonObject } from "../../src/base/json/json.js";
import { type Behaviour, echoTool, type ToolScript } from "../../src/testing/index.js";
import { answerText, answerToolCall, type OfferedTool } from "../../src/testing/lab/index.js";
import { onStage, type Told } from "../scenarios/providers/stage.js";
import { TARGETS, type Target, toolNamesIn } from "../scenarios/providers/target.js";
import { scenario } from "../scenarios/scenario.js";

const bad: ToolScript = {
  name: "bad",
  description: "A tool this provider does not take.",
  inputSchema: { type: "object", properties: { poison: { type: "string" } } },
  reply: { kind: "echo" },
};
const cured: ToolScript = { ...bad, inputSchema: { type: "object", properties: { cure: { type: "string" } } } };

const SERVER: Behaviour = {
  tools: [
    echoTool(),
    bad,
    {
      name: "heal",
      description: "Replaces the tool that is refused.",
      steps: [{ do: "set_tools", tools: [echoTool(), cured] }, { do: "list_changed" }],
      reply: { kind: "text", text: "healed" },
    },
  ],
};

/** The provider's rules, and one that nobody could have known. */
function refusesPoison(target: Target): (tool: OfferedTool) => readonly string[] {
  return (tool) => {
    const properties = tool.schema?.["properties"];
    return isJsonObject(properties) && "poison" in properties
      ? ["poison is not permitted."]
      : target.schemaFaults(tool);
  };
}

function quarantined(told: Told): readonly string[] {
  return told.turn.flatMap((event) => (event.kind === "tool_quarantined" ? [event.tool.id] : []));
}

for (const target of TARGETS) {
  for (const isNamed of [true, false]) {
    const how = isNamed ? "and names" : "without naming it";
    scenario(["L10"], `${target.name}: a tool whose schema it refuses ${how} is set aside, and the turn succeeds`, () =>
      onStage(
        target,
        async (stage) => {
          stage.provider.replyWith(() => answerText("It works all the same."));
          const told = await stage.prompt("hello");
          expect(told.error).toBeUndefined();
          expect(told.result?.stopReason).toBe("end_turn");
          expect(told.text).toBe("It works all the same.");
          expect(quarantined(told)).toEqual(["mcp__s__bad"]);
          expect(stage.provider.refusals.every(({ fault }) => fault.kind === "tool_schema")).toBe(true);
          const refusedOnce = stage.provider.refusals.length;
          if (isNamed) expect(refusedOnce).toBe(1);

          const again = await stage.prompt("again");
          expect(again.text).toBe("It works all the same.");
          expect(quarantined(again)).toEqual([]);
          expect(stage.provider.refusals).toHaveLength(refusedOnce);
          const last = stage.provider.requests.at(-1);
          expect(last && toolNamesIn(last)).toContain("mcp__s__echo");
          expect(last && toolNamesIn(last)).not.toContain("mcp__s__bad");

          stage.provider.reply(answerToolCall("mcp__s__heal", {}));
          await stage.prompt("heal it");
          await expect.poll(() => stage.session.tools.why("mcp__s__bad").kind).toBe("offered");
          await stage.prompt("and now?");
          const healed = stage.provider.requests.at(-1);
          expect(healed && toolNamesIn(healed)).toContain("mcp__s__bad");
          expect(stage.provider.refusals).toHaveLength(refusedOnce);
        },
        {
          mayRefuse: true,
          provider: { schemaFaults: refusesPoison(target), namesRefusedTools: isNamed },
          servers: { s: SERVER },
        },
      ),
    );
  }

  scenario(
    ["L10", "L5"],
    `${target.name}: a request that is refused for another reason ends in an error, and no tool is blamed`,
    () =>
      onStage(target, async (stage) => {
        stage.provider.replyWith(() => ({
          kind: "fault",
          fault: { kind: "invalid", message: "temperature: this field is not supported with this model" },
        }));
        const told = await stage.prompt("hello");
        expect(told.error?.code).toBe("model.invalid_request");
        expect(told.error?.message).toContain("temperature");
        expect(quarantined(told)).toEqual([]);
      }),
  );
}
