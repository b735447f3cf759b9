// Several clients on one real session: whose answer counts, whose files are read, whose prompt is next, and what is recorded.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Model } from "../../src/models/index.js";
import type { JoinRequest, Session, SessionHost } from "../../src/session/index.js";
import { createHost, type HostOptions, type SessionEvent } from "../../src/session/index.js";
import { type Behaviour, echoTool, scriptedServer } from "../../src/testing/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { cleanEnv, TemporaryFolder } from "../scenarios/agent.js";
import { scenario } from "../scenarios/scenario.js";

type Ports = JoinRequest["ports"];

/** Calls the tool that the prompt names (`call NAME {…}`), then says what it answered. */
const caller: Model = {
  id: "test/caller",
  stream: async function* ({ messages }) {
    const last = messages.at(-1);
    const said = JSON.stringify(
      last?.role === "user" ? last.content.map((one) => ("text" in one ? one.text : "")) : "",
    );
    const [, name, given = "{}"] = /call (\w+) ?(\{.*\})?/u.exec(said.replaceAll("\\", "")) ?? [];
    if (last?.role === "user" && name !== undefined) {
      yield { kind: "tool_call", call: { callId: "c", name, argumentsJson: given } };
      yield { kind: "finish", reason: "tool_calls" };
      return;
    }
    const results = last?.role === "tool" ? JSON.stringify(last.results.map(({ content }) => content)) : said;
    yield { kind: "text", text: `it said ${results}` };
    yield { kind: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
  },
};

const SERVER: Behaviour = {
  tools: [
    echoTool(),
    {
      name: "ask",
      description: "Asks the person",
      reply: {
        kind: "ask_client",
        method: "elicitation/create",
        params: {
          message: "Who are you?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        },
      },
    },
    {
      name: "sample",
      description: "Asks the model",
      reply: {
        kind: "ask_client",
        method: "sampling/createMessage",
        params: { maxTokens: 5, messages: [{ role: "user", content: { type: "text", text: "hello" } }] },
      },
    },
  ],
};

class House implements AsyncDisposable {
  readonly home = new TemporaryFolder();
  readonly host: SessionHost;
  readonly session: Session;
  readonly events: SessionEvent[] = [];
  readonly #reading: Promise<void>;

  constructor(options: Omit<HostOptions, "world"> = {}) {
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const world = nodeWorld({ env: cleanEnv(this.home.path), log });
    this.host = createHost({ world, model: caller, ...options });
    const server = { kind: "stdio", name: "s", ...scriptedServer(SERVER) } as const;
    const session = this.host.createSession({ cwd: this.home.path, id: "shared", servers: [server] });
    this.session = session;
    this.#reading = (async () => {
      for await (const event of session.events()) this.events.push(event);
    })();
  }

  join(client: string, ports: Partial<Ports>, given: Partial<JoinRequest> = {}) {
    const usual = { role: "controller", mayApprove: true, isUnattended: false } as const;
    const all = { ask: () => Promise.reject(new Error("not to be asked")), ...ports };
    return this.session.join({ client: nameOf(client), ...usual, ports: all, ...given });
  }

  prompt(content: string, client: string, promptId?: string) {
    const about = { by: nameOf(client), ...(promptId === undefined ? {} : { promptId }) };
    return this.session.prompt(content, undefined, about);
  }

  get said(): string {
    return this.events
      .flatMap((event) => (event.kind === "turn" && event.event.kind === "text" ? event.event.text : []))
      .join("");
  }

  get records(): { kind: string; [field: string]: unknown }[] {
    const file = join(this.home.path, "state", "sessions", "shared.ndjson");
    return readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => JSON.parse(line));
  }

  recordsOf(...kinds: string[]) {
    return this.records.filter(({ kind }) => kinds.includes(kind));
  }

  async until(state: Session["state"]): Promise<void> {
    if (this.session.state === state) return;
    await new Promise<void>((resolve) => {
      const stop = this.session.onInfo((now) => {
        if (now.state !== state) return;
        stop();
        resolve();
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host.close();
    await this.#reading;
    this.home[Symbol.dispose]();
  }
}

function nameOf(client: string) {
  return { client, name: `the ${client}` };
}

/** Asked, and answering when told. */
function held<Answer>() {
  const dialogs: { readonly signal: AbortSignal; readonly questionId: string | undefined }[] = [];
  let answer: (answer: Answer) => void = () => undefined;
  let wasAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    wasAsked = resolve;
  });
  const ask = (_: unknown, signal: AbortSignal, about?: { readonly questionId: string }) =>
    new Promise<Answer>((resolve) => {
      dialogs.push({ signal, questionId: about?.questionId });
      answer = resolve;
      wasAsked();
    });
  return { ask, dialogs, asked, answer: (given: Answer) => answer(given) };
}

scenario(
  ["G151", "G152", "G155", "G156"],
  "two clients are asked, a third joins and answers: it counts once, is journaled with its name, and all are told",
  async () => {
    await using house = new House();
    const [editor, phone, watcher] = [held<"once">(), held<"once">(), held<"once">()];
    house.join("editor", { ask: editor.ask });
    house.join("watcher", { ask: watcher.ask }, { role: "observer" });
    const prompted = house.prompt('call mcp__s__echo {"text":"approved"}', "editor");
    await editor.asked;
    expect(house.session.state).toBe("waiting");
    house.join("phone", { ask: phone.ask });
    const [open] = house.session.view().questions;
    expect(open).toMatchObject({ of: "permission", turn: 1, shown: { arguments: { text: "approved" } } });
    expect([editor, phone].map(({ dialogs }) => dialogs[0]?.questionId)).toEqual([open?.id, open?.id]);
    phone.answer("once");
    expect((await prompted).stopReason).toBe("end_turn");
    expect(editor.dialogs[0]?.signal.aborted).toBe(true);
    expect(watcher.dialogs).toEqual([]);
    expect(house.session.questions.answer(open?.id ?? "", "no", nameOf("editor"))).toBe("late");
    expect(house.said).toContain("approved");
    const told = house.events.flatMap((event) => (event.kind === "session_info" && event.question ? [event] : []));
    expect(told).toMatchObject([
      { state: "waiting", by: nameOf("editor"), question: { isOpen: true } },
      { state: "running", question: { isOpen: false, answer: "once", by: nameOf("phone") } },
    ]);
    expect(house.recordsOf("question", "answered", "intent").map(({ kind }) => kind)).toEqual([
      "question",
      "answered",
      "intent",
    ]);
    expect(house.recordsOf("answered")).toMatchObject([{ id: open?.id, answer: "once", by: nameOf("phone") }]);
    // Never offered: a no.
    const again = house.prompt('call mcp__s__echo {"text":"again"}', "editor");
    await house.until("waiting");
    const id = house.session.view().questions[0]?.id ?? "";
    expect(house.session.questions.answer(id, "absolutely", nameOf("phone"))).toBe("taken");
    await again;
    expect(house.said).toContain("the person said no");
    expect(house.recordsOf("intent")).toHaveLength(1);
  },
);

scenario(
  ["G154", "G152", "G157"],
  "with nobody there the turn waits; whoever joins is asked and it goes on; cancelling takes the question away",
  async () => {
    await using house = new House({ unattended: "wait" });
    const editor = held<"once">();
    const attached = house.join("editor", { ask: editor.ask });
    const prompted = house.prompt('call mcp__s__echo {"text":"much later"}', "editor");
    await editor.asked;
    attached.leave(); // the editor is closed
    expect(editor.dialogs[0]?.signal.aborted).toBe(true);
    expect(house.session.view()).toMatchObject({ state: "waiting", clients: [], questions: [{ of: "permission" }] });
    const phone = house.join("phone", { ask: async () => "once" });
    expect((await prompted).stopReason).toBe("end_turn");
    expect(house.said).toContain("much later");
    phone.leave();
    const second = house.prompt('call mcp__s__echo {"text":"never"}', "editor");
    await house.until("waiting");
    const late = held<"once">();
    house.join("tablet", { ask: late.ask });
    await late.asked;
    house.session.cancel(nameOf("tablet"));
    expect((await second).stopReason).toBe("cancelled");
    expect(late.dialogs[0]?.signal.aborted).toBe(true);
    expect(house.session.state).toBe("idle");
    expect(house.recordsOf("answered").map(({ answer, by }) => [answer, by])).toEqual([
      ["once", nameOf("phone")],
      ["withdrawn", undefined],
    ]);
    expect(house.said).not.toContain("never");
    await using declining = new House();
    await declining.prompt('call mcp__s__echo {"text":"alone"}', "nobody");
    expect(declining.said).toContain("nobody is attached");
    expect(declining.recordsOf("question")).toEqual([]);
  },
);

scenario(
  ["G155", "G153"],
  "trust, elicitation, sampling and the model's own question reach the person, not the client that answers by itself",
  async () => {
    await using house = new House({ config: {}, unattended: "wait" });
    const project = { mcpServers: { own: { command: "node", args: ["-e", "0"], env: { KEY: "canary-configured" } } } };
    writeFileSync(join(house.home.path, ".mcp.json"), JSON.stringify(project));
    const asked: string[] = [];
    const heard =
      <Answer>(kind: string, answer: Answer) =>
      () => {
        asked.push(kind);
        return Promise.resolve(answer);
      };
    const bot: Partial<Ports> = {
      ask: heard("bot", "once"),
      confirmTrust: heard("bot", "yes"),
      elicit: heard("bot", { action: "accept", content: { name: "bot" } }),
      approveSampling: heard("bot", "session"),
      askPerson: heard("bot", { kind: "typed", text: "bot" }),
    };
    house.join("bot", bot, { isUnattended: true });
    house.join("person", {
      ask: heard("permission", "once"),
      confirmTrust: heard("trust", "later"),
      elicit: heard("elicitation", { action: "accept", content: { name: "canary-typed" } }),
      approveSampling: heard("sampling", "once"),
      askPerson: heard("person", { kind: "chosen", label: "red" }),
    });
    await house.prompt("call mcp__s__ask", "person");
    await house.prompt("call mcp__s__sample", "person");
    await house.prompt('call ask_person {"question":"Which?","options":[{"label":"red"},{"label":"blue"}]}', "person");
    expect(asked).not.toContain("bot");
    expect(new Set(asked)).toEqual(new Set(["elicitation", "permission", "person", "sampling", "trust"]));
    expect(house.said).toContain("canary-typed"); // the server was told
    const records = house.recordsOf("question", "answered");
    const kinds = new Set(house.recordsOf("question").map((record) => record["of"]));
    expect(kinds).toEqual(new Set(["elicitation", "permission", "person", "sampling", "trust"]));
    expect(records.filter(({ kind }) => kind === "answered").every(({ by }) => by !== undefined)).toBe(true);
    expect(JSON.stringify(records)).not.toContain("canary");
    asked.length = 0;
    await house.prompt('call mcp__s__echo {"text":"by itself"}', "bot");
    expect(asked).toContain("bot");
  },
);

scenario(
  ["G150"],
  "files are read from the client whose prompt runs, else from the earliest that has them, else from the disk",
  async () => {
    await using house = new House();
    writeFileSync(join(house.home.path, "a.txt"), "from the disk");
    const files = (text: string) => ({ ask: async () => "once" as const, fs: { readText: async () => text } });
    const read = async (client: string): Promise<string> => {
      const before = house.said.length;
      await house.prompt('call read_file {"path":"a.txt"}', client);
      return house.said.slice(before);
    };
    house.join("terminal", { ask: async () => "once" });
    house.join("watcher", files("from the watcher"), { role: "observer" });
    expect(await read("terminal")).toContain("from the disk");
    house.join("zed", files("from zed"));
    const jet = house.join("jet", files("from jet"));
    expect(await read("jet")).toContain("from jet");
    expect(await read("terminal")).toContain("from zed");
    jet.leave();
    expect(await read("jet")).toContain("from zed");
  },
);

scenario(
  ["G158", "G159"],
  "prompts of two clients run one after the other; sent again by id, also after a restart, nothing runs twice",
  async () => {
    await using house = new House({ maxQueuedPrompts: 1 });
    const gate = held<"once">();
    const attached = house.join("editor", { ask: gate.ask });
    const first = house.prompt('call mcp__s__echo {"text":"first"}', "editor", "p1");
    await gate.asked;
    const second = house.prompt("second", "phone", "p2");
    await expect(house.prompt("third", "phone", "p3")).rejects.toMatchObject({ code: "session.busy" });
    const joined = house.prompt('call mcp__s__echo {"text":"first"}', "editor", "p1");
    await expect(house.prompt("other", "editor", "p1")).rejects.toMatchObject({ code: "session.prompt_conflict" });
    house.session.cancel(nameOf("phone"));
    expect(await second).toMatchObject({ stopReason: "cancelled" });
    const third = house.prompt("third", "phone", "p3");
    gate.answer("once");
    const answered = await first;
    expect(await joined).toEqual(answered);
    expect(await third).toMatchObject({ stopReason: "end_turn", turn: 2 });
    expect(house.recordsOf("intent")).toHaveLength(1);
    attached.leave();
    await house.session.close();
    const { session } = await house.host.loadSession({ id: "shared", cwd: house.home.path });
    const send = (content: string, promptId: string) => session.prompt(content, undefined, { promptId });
    expect(await send('call mcp__s__echo {"text":"first"}', "p1")).toEqual(answered);
    await expect(send("other", "p3")).rejects.toMatchObject({ code: "session.prompt_conflict" });
    expect(session.turnCount).toBe(2);
    expect(house.recordsOf("intent")).toHaveLength(1);
  },
);

scenario(
  ["G563"],
  "a client that leaves in the middle of a file request: the file of the next client is read, or that on the disk",
  async () => {
    await using house = new House({ unattended: "wait" });
    const path = join(house.home.path, "f.txt");
    writeFileSync(path, "what the disk has");
    const silent = () => {
      const [read, written] = [held<string>(), held<void>()];
      const fs = {
        readText: (_: string, __: object, signal: AbortSignal) => read.ask(_, signal),
        writeText: (_: string, __: string, signal: AbortSignal) => written.ask(_, signal),
      };
      return { read, written, ports: { ask: async () => "once" as const, fs } };
    };
    const [first, second] = [silent(), silent()];
    const [one, two] = [house.join("one", first.ports), house.join("two", second.ports)];
    const reading = house.prompt(`call read_file ${JSON.stringify({ path })}`, "one");
    await first.read.asked;
    one.leave();
    await second.read.asked;
    two.leave();
    expect((await reading).stopReason).toBe("end_turn");
    expect(house.said).toContain("what the disk has");
    const writer = silent();
    const three = house.join("three", { ...writer.ports, fs: { writeText: writer.ports.fs.writeText } });
    const writing = house.prompt(`call write_file ${JSON.stringify({ path, content: "from the turn" })}`, "three");
    await writer.written.asked;
    three.leave();
    expect((await writing).stopReason).toBe("end_turn");
    expect(readFileSync(path, "utf8")).toBe("from the turn");
    expect(house.recordsOf("outcome")).toMatchObject([{ outcome: { kind: "done" } }, { outcome: { kind: "done" } }]);
  },
);
