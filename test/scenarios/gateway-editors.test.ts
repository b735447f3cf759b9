// Two editors on one session of the local gateway, each with a translator of its own: acpx, and the test client.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { isJsonObject, parseObject } from "../../src/base/json/json.js";
import { scriptedServer } from "../../src/testing/index.js";
import { fakeProvider, gate, type ProviderReply, type ProviderRequest } from "../../src/testing/lab/index.js";
import { Acpx } from "./acpx-command.js";
import { TemporaryFolder } from "./agent.js";
import { differences, type Editor, Fleet, loadedLines, numberedLines, shownIn } from "./gateway/fleet.js";
import { conversationIn, TARGETS } from "./providers/target.js";
import { scenario } from "./scenario.js";

/** Makes one call for each prompt, with the prompt's own mark; `before` waits at the last answer of a turn. */
function replyTo(request: ProviderRequest, before: (mark: string) => Promise<void>): ProviderReply {
  const said = JSON.stringify(conversationIn(request));
  const mark = said.match(/MARK-\d+/gu)?.at(-1) ?? "none";
  const text = "Some words, größer 👍, in a few pieces.";
  if (said.includes(`written ${mark}`)) {
    return {
      kind: "answer",
      parts: [
        { kind: "pause", until: before(mark) },
        { kind: "text", text, chunks: 5 },
      ],
    };
  }
  const call = { kind: "tool_call" as const, name: "mcp__ledger__write_down", arguments: { text: `written ${mark}` } };
  return { kind: "answer", parts: [{ kind: "text", text, chunks: 5 }, call] };
}

/** The numbered updates among what acpx printed. */
function acpxLines(stdout: string, sessionId: string): readonly string[] {
  const shown = stdout.split("\n").flatMap((line) => {
    const message = parseObject(line);
    return message ? shownIn(message, sessionId, 0) : [];
  });
  return numberedLines(shown);
}

function sessionOf(stdout: string): string {
  const id = stdout.split("\n").flatMap((line) => {
    const params = parseObject(line)?.["params"];
    return isJsonObject(params) && typeof params["sessionId"] === "string" ? [params["sessionId"]] : [];
  })[0];
  if (id === undefined) throw new Error(`acpx names no session:\n${stdout}`);
  return id;
}

function lastNumber(lines: readonly string[]): number {
  return Number.parseInt(lines.at(-1) ?? "0", 10);
}

/** Of the session as the editor has it, with the words that were shown of a prompt as a sign that the turn goes on. */
function lines(editor: Editor, sessionId: string): readonly string[] {
  return numberedLines(editor.shown(sessionId));
}

scenario(
  ["G503", "G504", "F1"],
  "acpx and another editor on one session see the same; one is killed in a turn and returns; a prompt sent again ran once",
  async () => {
    const [target] = TARGETS;
    if (!target) throw new Error("there are no targets");
    await using provider = await fakeProvider();
    const gates = new Map(["MARK-2", "MARK-3"].map((mark) => [mark, gate()]));
    provider.replyWith((request) => replyTo(request, async (mark) => await gates.get(mark)?.opened));
    const env = { ...target.env(provider), TENON_MODEL: target.model };
    using home = new TemporaryFolder();
    await using fleet = new Fleet(home, { env });
    const first = await fleet.editor({ permissions: "always" });
    const ledger = join(home.path, "ledger.ndjson");
    const tool = {
      name: "write_down",
      description: "Writes a text down.",
      inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      reply: { kind: "echo" as const },
    };
    const { command, args } = scriptedServer({ tools: [tool], recordFile: ledger });
    const servers = [{ name: "ledger", command, args }];
    const acpx = await Acpx.in({ home, servers, keepSeconds: 60, acpArgs: ["--gateway"], env });
    expect(await acpx.run("sessions", "new")).toMatchObject({ code: 0 });
    const opening = await acpx.run("prompt", "MARK-1");
    expect(opening).toMatchObject({ code: 0, stdout: expect.stringContaining('"end_turn"') });
    const sessionId = sessionOf(opening.stdout);
    const before = await loadedLines(fleet, sessionId);
    const place = { sessionId, cwd: home.path, mcpServers: [] };

    // The other editor loads the session, sees a turn of acpx begin, and is killed in the middle of it.
    await first.client.request("session/load", place);
    expect(differences(lines(first, sessionId), before)).toEqual([]);
    const turn = acpx.start("prompt", "MARK-2");
    await first.client.waitForUpdate(sessionId, (update) => JSON.stringify(update).includes("written MARK-2"));
    first.client.kill("SIGKILL");
    await fleet.forget(first);
    gates.get("MARK-2")?.open();
    const second = await fleet.editor({ permissions: "always" });
    const after = lastNumber(lines(first, sessionId));
    await second.client.request("session/resume", { ...place, _meta: { tenon: { after } } });
    const { code, stdout } = await turn.ended();
    expect(code, stdout).toBe(0);
    const log = await loadedLines(fleet, sessionId);
    const seen = [...lines(first, sessionId), ...lines(second, sessionId)];
    expect(differences(seen, log)).toEqual([]);
    expect(differences(acpxLines(stdout, sessionId), log.slice(before.length))).toEqual([]);

    // It prompts itself, is killed in the middle of that turn, and sends the prompt again by its id.
    const prompt = { sessionId, prompt: [{ type: "text", text: "MARK-3" }], _meta: { tenon: { promptId: "again" } } };
    const lost = second.client.request("session/prompt", prompt).catch(() => "lost");
    await second.client.waitForUpdate(sessionId, (update) => JSON.stringify(update).includes("written MARK-3"));
    second.client.kill("SIGKILL");
    expect(await lost).toBe("lost");
    await fleet.forget(second);
    const third = await fleet.editor({ permissions: "always" });
    const seenByNow = lastNumber(lines(second, sessionId));
    await third.client.request("session/resume", { ...place, _meta: { tenon: { after: seenByNow } } });
    const answer = third.client.request("session/prompt", prompt);
    gates.get("MARK-3")?.open();
    expect(await answer).toMatchObject({ stopReason: "end_turn" });
    const whole = await loadedLines(fleet, sessionId);
    const own = [...lines(first, sessionId), ...lines(second, sessionId), ...lines(third, sessionId)];
    expect(differences(own, whole)).toEqual([]);
    expect(await third.client.request("session/prompt", prompt)).toMatchObject({ stopReason: "end_turn" });
    const calls = existsSync(ledger) ? readFileSync(ledger, "utf8").split("\n") : [];
    const marks = calls.flatMap((line) => (line.includes('"tools/call"') ? (line.match(/MARK-\d/u) ?? []) : []));
    expect(marks).toEqual(["MARK-1", "MARK-2", "MARK-3"]);
    expect(provider.refusals).toEqual([]);
    expect(await acpx.run("sessions", "close")).toMatchObject({ code: 0 });
  },
);
