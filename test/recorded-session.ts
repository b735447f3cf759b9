// A journal as a session writes it, for tests: prompts, thoughts, calls, a picture, a failed turn.
import type { ModelEvent, ModelRequest } from "../src/models/index.js";
import { type LoadedSession, SessionHost } from "../src/session/index.js";
import { echoTool, type FakeWorld, fakeWorld, spawnsServer } from "../src/testing/index.js";

export const STATE = "/state";
export const ID = "0199-session";
export const JOURNAL: string = `${STATE}/sessions/${ID}.ndjson`;
export const SERVER = { kind: "stdio", name: "s", command: "server", args: [], env: { SECRET: "canary" } } as const;

const finish = { kind: "finish", reason: "stop", usage: { inputTokens: 10, outputTokens: 2 } } as const;

/** Says what it was told; calls a tool when the prompt begins with its name; fails when told so. */
async function* answer({ messages, tools }: ModelRequest): AsyncGenerator<ModelEvent, void, void> {
  const last = messages.at(-1);
  if (last?.role !== "user") {
    yield { kind: "text", text: "and that " };
    yield { kind: "text", text: "was it" };
    yield { ...finish, providerData: { signed: "by the provider" } };
    return;
  }
  const prompt = last.content.map((block) => (block.type === "text" ? block.text : `(${block.type})`)).join(" ");
  if (prompt.startsWith("fail")) throw new Error("wires crossed");
  const tool = tools.find(({ name }) => prompt.includes(name.split("__").at(-1) ?? name));
  yield { kind: "thought", text: "hm, " };
  yield { kind: "thought", text: "größer 👍" };
  for (const word of `you said: ${prompt}`.split(/(?<= )/u)) yield { kind: "text", text: word };
  if (tool) {
    for (const callId of ["c1", "c2"]) {
      yield { kind: "tool_input", callId, name: tool.name, delta: "{" };
      yield { kind: "tool_call", call: { callId, name: tool.name, argumentsJson: `{"text":"${callId}"}` } };
    }
  }
  yield tool ? { kind: "finish", reason: "tool_calls" } : finish;
}

type Stream = (request: ModelRequest) => AsyncGenerator<ModelEvent, void, void>;

export function hostIn(
  world: FakeWorld,
  stream: Stream = answer,
  more: Pick<ConstructorParameters<typeof SessionHost>[0], "store"> = {},
): SessionHost {
  const model = { id: "test/model", stream };
  return new SessionHost({ world, model, stateDir: STATE, builtin: [], client: { name: "t", version: "1" }, ...more });
}

export function newWorld(files: Readonly<Record<string, string>> = {}): FakeWorld {
  return fakeWorld({ spawn: spawnsServer({ tools: [echoTool()] }), files });
}

/** Closing waits for processes, and those wait for the clock. */
export async function closed(world: FakeWorld, closing: Promise<unknown>): Promise<void> {
  await world.advance(10_000);
  await closing;
}

const DATA: string = "QUJD".repeat(10_000);
export const PICTURE: { type: "image"; data: string; mimeType: string } = {
  type: "image",
  data: DATA,
  mimeType: "image/png",
};

export async function writtenJournal(): Promise<{ readonly world: FakeWorld; readonly text: string }> {
  const world = newWorld();
  const host = hostIn(world);
  const session = host.createSession({ cwd: "/project", servers: [SERVER], id: ID });
  session.attach({ ask: async () => "once" });
  await world.advance(0);
  await session.prompt("echo something, please");
  await session.prompt([{ type: "text", text: "look: größer 👍" }, PICTURE]);
  await session.prompt("fail now").catch(() => undefined);
  await session.prompt("/mcp");
  await session.prompt("goodbye");
  await closed(world, host.close());
  return { world, text: world.files.text(JOURNAL) ?? "" };
}

/** The session of such a journal, in a new process. */
export async function load(
  text: string,
): Promise<LoadedSession & { readonly world: FakeWorld; readonly host: SessionHost }> {
  const world = newWorld({ [JOURNAL]: text });
  const host = hostIn(world);
  return { world, host, ...(await host.loadSession({ id: ID, cwd: "/project" })) };
}
