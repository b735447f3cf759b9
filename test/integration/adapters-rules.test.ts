// What holds of every adapter, whatever the set behind it says: names, schemas, options, arguments, failures, changes.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ToolMessage } from "@langchain/core/messages";
import { DynamicStructuredTool } from "@langchain/core/tools";
import { expect } from "vitest";
import type { JsonObject, JsonSchema } from "../../src/base/json/json.js";
import type { CallOptions, ToolInfo, ToolResult, ToolSet } from "../../src/library/tool-set.js";
import {
  toAiSdkTools,
  toAnthropicTools,
  toGeminiTools,
  toLangChainTools,
  toOpenAiAgentsTools,
  toOpenAiTools,
} from "../../src/library/tools.js";
import { anthropicFaults } from "../dialect-checkers/anthropic.js";
import { geminiFaults } from "../dialect-checkers/gemini.js";
import { openaiFaults } from "../dialect-checkers/openai.js";
import { openaiCompatibleFaults } from "../dialect-checkers/openai-compatible.js";
import { scenario } from "../scenarios/scenario.js";

const TEXT_SCHEMA = { type: "object", properties: { text: { type: "string" } } };

function info(name: string, rest: Partial<ToolInfo> = {}): ToolInfo {
  return { name, source: "own", originalName: name, description: `Does ${name}`, inputSchema: TEXT_SCHEMA, ...rest };
}

interface MadeCall {
  readonly name: string;
  readonly args: JsonObject;
  readonly options: CallOptions | undefined;
}

/** A set of an embedder's own, which records its calls. */
class OwnSet implements ToolSet {
  readonly calls: MadeCall[] = [];
  tools: readonly ToolInfo[];
  answer: () => Promise<ToolResult> = async () => {
    return { status: "done", text: "done", content: [{ type: "text", text: "done" }] };
  };

  constructor(...tools: readonly ToolInfo[]) {
    this.tools = tools;
  }

  list(): readonly ToolInfo[] {
    return this.tools;
  }

  async call(name: string, args: JsonObject, options?: CallOptions): Promise<ToolResult> {
    this.calls.push({ name, args, options });
    return await this.answer();
  }

  onChange(): () => void {
    return () => {};
  }
}

interface Offered {
  readonly name: string;
  readonly schema: unknown;
}

interface Driven {
  readonly offered: () => readonly Offered[];
  readonly problems: () => readonly { readonly tool: string; readonly text: string }[];
  /** `args` as that provider hands them over. */
  readonly call: (name: string, args: JsonObject, options?: CallOptions) => Promise<unknown>;
  /** Whether what came back says that the call failed. */
  readonly isFailure: (result: unknown) => boolean;
}

const LANGCHAIN = { DynamicStructuredTool, ToolMessage };

/** Every adapter behind one face. */
const ADAPTERS: Readonly<Record<string, (set: ToolSet, options?: { readonly strict?: boolean }) => Driven>> = {
  anthropic: (set, options) => {
    const adapted = toAnthropicTools(set, options);
    return {
      offered: () => adapted.tools.map(({ name, input_schema: schema }) => ({ name, schema })),
      problems: () => adapted.problems,
      call: (name, input, callOptions) => adapted.execute({ id: "1", name, input }, callOptions),
      isFailure: (result) => JSON.stringify(result).includes('"is_error":true'),
    };
  },
  "openai chat": (set, options) => {
    const adapted = toOpenAiTools(set, { api: "chat", ...options });
    return {
      offered: () => adapted.tools.map(({ function: { name, parameters: schema } }) => ({ name, schema })),
      problems: () => adapted.problems,
      call: (name, args, callOptions) => {
        const called = { name, arguments: JSON.stringify(args) };
        return adapted.execute({ id: "1", type: "function", function: called }, callOptions);
      },
      isFailure: (result) => JSON.stringify(result).includes('"content":"Error: '),
    };
  },
  "openai responses": (set, options) => {
    const adapted = toOpenAiTools(set, options);
    return {
      offered: () => adapted.tools.map(({ name, parameters: schema }) => ({ name, schema })),
      problems: () => adapted.problems,
      call: (name, args, callOptions) =>
        adapted.execute({ call_id: "1", name, arguments: JSON.stringify(args) }, callOptions),
      isFailure: (result) => JSON.stringify(result).includes('"output":"Error: '),
    };
  },
  gemini: (set, options) => {
    const adapted = toGeminiTools(set, options);
    return {
      offered: () =>
        adapted.tools
          .flatMap(({ functionDeclarations }) => functionDeclarations)
          .map(({ name, parametersJsonSchema: schema }) => ({ name, schema })),
      problems: () => adapted.problems,
      call: (name, args, callOptions) => adapted.execute({ id: "1", name, args }, callOptions),
      isFailure: (result) => JSON.stringify(result).includes('"response":{"error":'),
    };
  },
  "ai sdk": (set, options) => {
    const adapted = toAiSdkTools(set, options);
    return {
      offered: () =>
        Object.entries(adapted.tools).map(([name, tool]) => {
          return { name, schema: tool.inputSchema["~standard"].jsonSchema.input() };
        }),
      problems: () => adapted.problems,
      call: (toolName, input, callOptions) => adapted.execute({ toolCallId: "1", toolName, input }, callOptions),
      isFailure: (result) => JSON.stringify(result).includes('"type":"error-text"'),
    };
  },
  langchain: (set, options) => {
    const adapted = toLangChainTools(set, LANGCHAIN, options);
    return {
      offered: () => adapted.tools.map(({ name, schema }) => ({ name, schema })),
      problems: () => adapted.problems,
      call: (name, args, callOptions) => adapted.execute({ id: "1", name, args: { ...args } }, callOptions),
      isFailure: (result) => ToolMessage.isInstance(result) && result.status === "error",
    };
  },
  "openai agents": (set, options) => {
    const adapted = toOpenAiAgentsTools(set, options);
    return {
      offered: () => adapted.tools.map(({ name, parameters: schema }) => ({ name, schema })),
      problems: () => adapted.problems,
      call: (name, args, callOptions) =>
        adapted.execute({ callId: "1", name, arguments: JSON.stringify(args) }, callOptions),
      isFailure: (result) => JSON.stringify(result).includes('"status":"incomplete"'),
    };
  },
};

const NAMES = /^[a-zA-Z0-9_-]{1,64}$/;
const GEMINI_NAMES = /^[a-zA-Z_]/;

scenario(
  ["V210"],
  "names that a provider refuses are changed for it, and calls reach the tool by its own",
  async () => {
    const odd = ["mcp__a__b", "9lives", "Über tool", "über.tool", "x".repeat(200), `${"x".repeat(199)}y`, "日本", "-"];
    for (const [adapter, adapt] of Object.entries(ADAPTERS)) {
      const set = new OwnSet(...odd.map((name) => info(name)));
      const driven = adapt(set);
      const names = driven.offered().map(({ name }) => name);
      expect(new Set(names).size, adapter).toBe(odd.length);
      expect(names[0], adapter).toBe("mcp__a__b");
      for (const name of names) {
        if (adapter !== "anthropic") expect(name, adapter).toMatch(NAMES);
        if (adapter === "gemini") expect(name).toMatch(GEMINI_NAMES);
        await driven.call(name, { text: "x" });
      }
      expect(
        set.calls.map(({ name }) => name),
        adapter,
      ).toEqual(odd);
    }
  },
);

const FOLDER = join(import.meta.dirname, "..", "fixtures", "tool-lists");

const CHECKERS: Readonly<Record<string, (schema: unknown) => readonly string[]>> = {
  anthropic: (schema) => anthropicFaults(schema, { strict: false }),
  "openai chat": (schema) => openaiFaults(schema, { strict: false }),
  "openai responses": (schema) => openaiFaults(schema, { strict: false }),
  gemini: (schema) => geminiFaults(schema),
  "ai sdk": openaiCompatibleFaults,
  langchain: openaiCompatibleFaults,
  "openai agents": (schema) => openaiFaults(schema, { strict: false }),
};

scenario(["V211"], "the tools of real servers are valid for every provider, and none is left out", async () => {
  const infos = readdirSync(FOLDER).flatMap((file) => {
    const list: { name: string; inputSchema: JsonSchema }[] = JSON.parse(readFileSync(join(FOLDER, file), "utf8"));
    return list.map(({ name, inputSchema }) => info(`${file.replace(".json", "")}__${name}`, { inputSchema }));
  });
  expect(infos.length).toBeGreaterThan(200);
  for (const [adapter, adapt] of Object.entries(ADAPTERS)) {
    const driven = adapt(new OwnSet(...infos));
    expect(driven.problems(), adapter).toEqual([]);
    const offered = driven.offered();
    expect(offered, adapter).toHaveLength(infos.length);
    const faults = offered.flatMap(({ name, schema }) =>
      (CHECKERS[adapter]?.(schema) ?? []).map((fault) => [name, fault]),
    );
    expect(faults, adapter).toEqual([]);
  }
});

scenario(
  ["V212"],
  "arguments in a provider's form reach the tool in its own, and what cannot be read is told to the model",
  async () => {
    const inputSchema = {
      type: "object",
      properties: { "needs-quote$": { type: "string" }, limit: { type: "integer" } },
      required: ["needs-quote$"],
    };
    const set = new OwnSet(info("find", { inputSchema }));
    const strict = ADAPTERS["openai responses"]?.(set, { strict: true });
    await strict?.call("find", { "needs-quote$": "a", limit: null });
    expect(set.calls.at(-1)?.args).toEqual({ "needs-quote$": "a" });

    const anthropic = toAnthropicTools(set);
    const [shown] = Object.keys(anthropic.tools[0]?.input_schema["properties"] ?? {});
    expect(shown).toMatch(/^[a-zA-Z0-9_.-]+$/);
    await anthropic.execute({ id: "1", name: "find", input: { [String(shown)]: "b" } });
    expect(set.calls.at(-1)?.args).toEqual({ "needs-quote$": "b" });

    const before = set.calls.length;
    const broken = await toOpenAiTools(set).execute({ call_id: "1", name: "find", arguments: '{"limit": 1' });
    expect(broken.output).toMatch(
      /^Error: The call of find was not made: the arguments are not valid JSON: they break off/,
    );
    const list = await anthropic.execute({ id: "1", name: "find", input: [1] });
    expect(list).toMatchObject({
      is_error: true,
      content: [{ text: expect.stringContaining("must be a JSON object") }],
    });
    expect(set.calls).toHaveLength(before);
  },
);

scenario(["V213"], "execute never rejects: what fails, is refused or throws is a result that says so", async () => {
  // Of a set written in plain JavaScript, with promises of another kind.
  const otherPromise = JSON.parse("{}");
  Reflect.set(otherPromise, "then", (_: unknown, reject: (error: Error) => void) => reject(new Error("no disk")));
  const answers: readonly (() => Promise<ToolResult>)[] = [
    async () => ({ status: "failed", text: "no disk", content: [] }),
    async () => ({ status: "refused", text: "no disk", content: [], code: "tool.unknown" }),
    async () => ({ status: "cancelled", text: "no disk", content: [] }),
    async () => ({ status: "unknown", text: "no disk", content: [] }),
    () => Promise.reject(new Error("no disk")),
    () => otherPromise,
  ];
  for (const [adapter, adapt] of Object.entries(ADAPTERS)) {
    for (const answer of answers) {
      const set = new OwnSet(info("save"));
      set.answer = answer;
      const driven = adapt(set);
      const result = await driven.call("save", {});
      expect(JSON.stringify(result), adapter).toContain("no disk");
      expect(driven.isFailure(result), adapter).toBe(true);
    }
  }
  const set = new OwnSet(info("save"));
  set.answer = answers[1] ?? expect.fail();
  await expect(toAiSdkTools(set).tools["save"]?.execute({}, { toolCallId: "1" })).rejects.toMatchObject({
    code: "tool.unknown",
  });
  await expect(toLangChainTools(set, LANGCHAIN).tools[0]?.invoke({})).rejects.toMatchObject({ code: "tool.unknown" });
});

scenario(["V214"], "a caller's signal reaches the call", async () => {
  const { signal } = new AbortController();
  for (const [adapter, adapt] of Object.entries(ADAPTERS)) {
    const set = new OwnSet(info("wait"));
    await adapt(set).call("wait", {}, { signal });
    expect(set.calls[0]?.options?.signal, adapter).toBe(signal);
  }
  const set = new OwnSet(info("wait"));
  await toAiSdkTools(set).tools["wait"]?.execute({}, { abortSignal: signal });
  await toOpenAiAgentsTools(set).tools[0]?.invoke({}, "{}", { signal });
  await toLangChainTools(set, LANGCHAIN).tools[0]?.invoke({}, { signal });
  expect(set.calls.map(({ options }) => options?.signal?.aborted)).toEqual([false, false, false]);
});

scenario(
  ["V215"],
  "tools that the set gains or loses are gained or lost; late calls still find their tool",
  async () => {
    for (const [adapter, adapt] of Object.entries(ADAPTERS)) {
      const set = new OwnSet(info("old tool"));
      const driven = adapt(set);
      const [old] = driven.offered();
      set.tools = [info("new")];
      expect(
        driven.offered().map(({ name }) => name),
        adapter,
      ).toEqual(["new"]);
      await driven.call(old?.name ?? "", {});
      expect(set.calls[0]?.name, adapter).toBe("old tool");
    }
  },
);

scenario(
  ["V216"],
  "a provider's options go with the definition; unknown ones and tools without a form are told",
  async () => {
    const set = new OwnSet(
      info("cached", { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" }, colour: "red" } } }),
      info("exact", { providerOptions: { openai: { function: { strict: true } } } }),
      info("loose", { providerOptions: { google: { behavior: "NON_BLOCKING", grounding: false } } }),
      info("broken", { inputSchema: { type: "array" } }),
    );
    const anthropic = toAnthropicTools(set);
    expect(anthropic.tools[0]).toMatchObject({ cache_control: { type: "ephemeral" } });
    expect(anthropic.tools[0]).not.toHaveProperty("colour");
    expect(anthropic.problems).toEqual([
      { tool: "broken", text: expect.stringContaining("cannot be offered") },
      { tool: "cached", text: expect.stringContaining("anthropic.colour") },
    ]);
    expect(toOpenAiTools(set).tools.map(({ strict }) => strict)).toEqual([false, true, false]);
    expect(toOpenAiTools(set, { api: "chat" }).tools[1]?.function.strict).toBe(true);
    const gemini = toGeminiTools(set);
    expect(gemini.tools[0]?.functionDeclarations[2]).toMatchObject({ behavior: "NON_BLOCKING" });
    expect(gemini.problems.map(({ text }) => text)).toContainEqual(expect.stringContaining("google.grounding"));
    expect(toAiSdkTools(set).tools["cached"]?.providerOptions).toMatchObject({ anthropic: { cacheControl: {} } });
  },
);
