// Permission questions on the wire: what the person is shown, which answers there are, and what each means.
import type { AgentContext, RequestPermissionRequest } from "@agentclientprotocol/sdk";
import { describe, expect, it } from "vitest";
import { Cell } from "../base/async/cell.js";
import type { PermissionQuestion } from "../session/index.js";
import { snapshot } from "../tools/index.js";
import { elicitationPorts } from "./elicitation.js";
import { permissionPorts } from "./permission.js";
import { askPerson } from "./ports.js";

const definition = { name: "send", title: "Send mail", description: "Sends", inputSchema: { type: "object" } };
const call = () => Promise.reject(new Error("not called here"));
const [TOOL] = snapshot([{ name: "mail", origin: "user", tools: new Cell([definition]), call }]).tools;

function question(given: Partial<PermissionQuestion> = {}): PermissionQuestion {
  if (!TOOL) throw new Error("no tool");
  return { toolCallId: "1-1", tool: TOOL, arguments: {}, choices: CHOICES, ...given };
}

const CHOICES: PermissionQuestion["choices"] = [
  { answer: "once", label: "Allow once" },
  { answer: "always", label: "Always allow mail / send in this project" },
  { answer: "no", label: "No" },
  { answer: "never", label: "Never allow mail / send" },
];

/** Asks once; the client chooses an option, or closes the question. */
async function ask(asked: PermissionQuestion, optionId?: string) {
  const sent: RequestPermissionRequest[] = [];
  const client = {
    request: async (_method: string, params: RequestPermissionRequest) => {
      sent.push(params);
      return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
    },
  };
  const answer = await permissionPorts(asClient(client), "s").ask(asked, new AbortController().signal);
  return { answer, sent: sent[0] };
}

/** Questions need one method of it. */
function asClient(client: object): AgentContext {
  const isClient = (value: object): value is AgentContext => "request" in value;
  if (!isClient(client)) throw new Error("no client");
  return client;
}

describe("the answers", () => {
  it("are at most one of each kind that clients know, with labels that say what they grant", async () => {
    const { sent } = await ask(question());
    expect(sent?.options).toEqual([
      { optionId: "once", name: "Allow once", kind: "allow_once" },
      { optionId: "always", name: "Always allow mail / send in this project", kind: "allow_always" },
      { optionId: "no", name: "No", kind: "reject_once" },
      { optionId: "never", name: "Never allow mail / send", kind: "reject_always" },
    ]);
  });

  it("promise nothing that is not kept, where a rule asks every time", async () => {
    const { sent } = await ask(question({ choices: CHOICES.filter(({ answer }) => answer !== "always") }));
    expect(sent?.options.map(({ optionId }) => optionId)).toEqual(["once", "no", "never"]);
  });

  it.each([
    ["once", "once"],
    ["always", "always"],
    ["always_server", "no"],
    ["no", "no"],
    ["never", "never"],
    ["session", "no"],
    ["anything else", "no"],
    [undefined, "cancelled"],
  ])("%s means %s", async (optionId, expected) => {
    expect((await ask(question(), optionId)).answer).toBe(expected);
  });
});

describe("what is shown", () => {
  it("is the server, the title, and the arguments both raw and readable, nothing hidden in them", async () => {
    const args = { to: ["a", "b"], body: "hello\u202eolleh", long: "x".repeat(10_000) };
    const { sent } = await ask(question({ arguments: args }));
    expect(sent?.toolCall).toMatchObject({
      toolCallId: "1-1",
      title: String.raw`mail / send to=["a","b"] body="hello\\u{202E}olleh" long="${"x".repeat(60)}…" — server's title: "Send mail"`,
      rawInput: args,
    });
    const text = JSON.stringify(sent?.toolCall.content);
    expect(text).toContain('to: [\\"a\\",\\"b\\"]\\nbody: hello\\\\u{202E}olleh\\nlong: xxx');
    expect(text).toContain("(6000 more characters)");
    expect(text).not.toContain("\u202e");
  });

  it("is how the call looks where that is known: a diff takes the place of the arguments", async () => {
    const locations = [{ path: "/p/a.txt", line: 2 }];
    const looks = { kind: "edit", title: "Edit a.txt", locations } as const;
    const diff = { path: "/p/a.txt", oldText: "old", newText: "new" };
    const args = { path: "a.txt" };
    const edit = await ask(question({ arguments: args, presentation: { ...looks, diff } }));
    expect(edit.sent?.toolCall).toMatchObject({ kind: "edit", locations, rawInput: args });
    expect(edit.sent?.toolCall.content).toEqual([{ type: "diff", ...diff }]);
    const without = await ask(question({ arguments: args, presentation: looks }));
    expect(JSON.stringify(without.sent?.toolCall.content)).toContain("path: a.txt");
  });

  it.each([
    [{ text: "buy milk" }, 'text="buy milk"'],
    [{ a: 1, b: [true, null] }, "a=1 b=[true,null]"],
    [{ password: "hunter22" }, "password=[redacted]"],
    [{ 'a" b': 1 }, '"a\\" b"=1'],
    [{ a: "x".repeat(70), b: "y".repeat(70), c: "z" }, `a="${"x".repeat(60)}…" b="${"y".repeat(60)}…" c="z"`],
    [{ a: "x".repeat(70), b: "y".repeat(70), c: "z".repeat(70) }, `a="${"x".repeat(60)}…" b="${"y".repeat(60)}…" …`],
  ])("is titled with short arguments: %j", async (args, words) => {
    const { sent } = await ask(question({ arguments: args }));
    expect(sent?.toolCall.title).toBe(`mail / send ${words} — server's title: "Send mail"`);
  });

  it("is of kind other, unless the user trusts what the server says of its tools", async () => {
    const tools = new Cell([{ ...definition, name: "read_it", annotations: { readOnlyHint: true } }]);
    const [tool = TOOL] = snapshot([{ name: "files", origin: "user", tools, call }]).tools;
    const kindOf = async (given: object) => (await ask({ ...question(), ...given })).sent?.toolCall.kind;
    expect(await kindOf({ tool })).toBe("other");
    expect(await kindOf({ tool, trustsHints: true })).toBe("read");
  });

  it("is nothing beside the title for a call without arguments", async () => {
    const { sent } = await ask(question());
    expect(sent?.toolCall.content).toBeUndefined();
    expect(sent?.toolCall._meta).toBeUndefined();
  });

  it("is why it is asked, and what changed since it was approved, before the arguments", async () => {
    const change = ["changed description:", "  - Sends", "  + Sends it twice"];
    const { sent } = await ask(question({ arguments: { to: "a" }, reason: "the rule at c:1:2 wants it", change }));
    const notes = ["Asked because the rule at c:1:2 wants it.", "The tool changed since it was approved:", ...change];
    expect(sent?.toolCall.content).toEqual([
      { type: "content", content: { type: "text", text: notes.join("\n") } },
      { type: "content", content: { type: "text", text: "to: a" } },
    ]);
    expect(sent?.toolCall._meta).toEqual({ tenon: { notes } });
  });

  it("is the change alone where there is no call, which is then allowed for the session or longer", async () => {
    const { sent } = await ask(question({ isReview: true, change: ["changed title:"] }));
    expect(sent?.toolCall).toMatchObject({ title: "mail / send: its definition changed" });
    expect(sent?.toolCall.rawInput).toBeUndefined();
  });

  it("says what is not as the project has locked it, and marks that for our own chat", async () => {
    const lock = "differs from .tenon/tools.lock";
    const { sent } = await ask(question({ isReview: true, change: ["changed title:"], lock }));
    expect(sent?.toolCall.title).toBe("mail / send: differs from .tenon/tools.lock");
    const notes = ["It differs from .tenon/tools.lock:", "changed title:"];
    expect(sent?.toolCall._meta).toEqual({ tenon: { notes, lock: true } });
  });
});

describe("a client of several", () => {
  it("is told what each question is known by, beside what the question says of itself; a single one is not", async () => {
    const sent: unknown[] = [];
    const request = async (_method: string, params: object) => {
      sent.push("_meta" in params ? params._meta : undefined);
      return { outcome: { outcome: "cancelled" } };
    };
    const client = asClient({ request });
    const { signal } = new AbortController();
    const asked = { questionId: "q", askedMs: 7 };
    const known = { questionId: "q", askedAt: 7 };
    const ports = permissionPorts(client, "s");
    const trust = { id: "t", title: "Trust?", names: ["one"], lines: [], written: {} };
    const sampling = { id: "1", server: "s", model: "m", system: "", messages: [], maxTokens: 1, callsLeft: 1 };
    await ports.ask(question(), signal, asked);
    await ports.confirmTrust?.(trust, signal, asked);
    await ports.approveSampling?.(sampling, signal, asked);
    const elicit = elicitationPorts(client, "s", { forms: true, pages: false }).elicit;
    await elicit?.({ id: "e", server: "s", request: { mode: "form", message: "who?" } }, signal, asked);
    for (const forms of [true, false]) {
      await askPerson(client, "s", { forms })("Which?", [{ label: "red" }], signal, "1-1", asked);
    }
    const plain = { tenon: known };
    expect(sent).toEqual([plain, { tenon: { trust: true, servers: ["one"], ...known } }, plain, plain, plain, plain]);
    await ports.ask(question(), signal);
    expect(sent.at(-1)).toBeUndefined();
  });
});
