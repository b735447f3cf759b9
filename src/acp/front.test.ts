// The front: answers first, loads later, loses nothing in between.
import { PassThrough } from "node:stream";
import type { AnyMessage } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { fakeWorld } from "../testing/index.js";
import type { PromisedSession } from "./agent.js";
import { Front } from "./front.js";
import { ACP_LIMITS } from "./limits.js";

function start() {
  const world = fakeWorld();
  const input = new PassThrough();
  const output = new PassThrough();
  const sent: string[] = [];
  output.on("data", (chunk: Buffer) => sent.push(...chunk.toString().trim().split("\n")));
  const handed: {
    promised: readonly PromisedSession[];
    /** What the agent does once it is loaded. */
    take: () => void;
    messages: AnyMessage[];
    write?: WritableStreamDefaultWriter<AnyMessage>;
    isOver: boolean;
  } = { promised: [], take: () => {}, messages: [], isOver: false };
  let ids = 0;
  const front = new Front({
    input,
    output,
    world,
    newSessionId: () => `id-${++ids}`,
    start: ({ readable, writable }, takePromised) => {
      handed.take = () => {
        handed.promised = takePromised();
      };
      handed.write = writable.getWriter();
      const reader = readable.getReader();
      const pump = (): Promise<void> =>
        reader.read().then(({ value, done }) => {
          if (done) {
            handed.isOver = true;
            return undefined;
          }
          handed.messages.push(value);
          return pump();
        });
      pump().catch(() => undefined);
    },
  });
  const send = async (message: object) => {
    input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    await world.settle();
  };
  return { world, input, sent, handed, front, send };
}

const initialize = { id: 0, method: "initialize", params: { protocolVersion: 1 } };
const newSession = (id: number) => ({
  id,
  method: "session/new",
  params: { cwd: "/p", mcpServers: [{ name: "s", command: "x" }] },
});

test("initialize and early session/new are answered before anything is loaded", async () => {
  const { sent, handed, send } = start();
  await send(initialize);
  await send(newSession(1));
  await send(newSession(2));
  expect(sent).toHaveLength(3);
  expect(sent[1]).toContain('"sessionId":"id-1"');
  expect(handed.write).toBeUndefined();
});

test("the agent gets initialize first, the promised sessions, and the rest only after it has answered", async () => {
  const { world, sent, handed, send } = start();
  await send(initialize);
  await send(newSession(1));
  await send({ id: 2, method: "session/prompt", params: {} });
  await world.advance(0);
  handed.take();
  expect(handed.promised).toMatchObject([{ id: "id-1", request: { cwd: "/p", servers: [{ name: "s" }] } }]);
  expect(handed.messages).toMatchObject([{ method: "initialize" }]);
  const [replayed] = handed.messages;
  if (!replayed || !("id" in replayed)) throw new Error("initialize was not replayed as a request");
  await handed.write?.write({ jsonrpc: "2.0", id: replayed.id, result: {} });
  await world.settle();
  expect(handed.messages.slice(1)).toMatchObject([{ id: 2, method: "session/prompt" }]);
  expect(sent).toHaveLength(2); // the answer to the replay is nobody's business
  await send(newSession(3));
  expect(handed.messages.at(-1)).toMatchObject({ id: 3 });
  await handed.write?.write({ jsonrpc: "2.0", id: 3, result: { sessionId: "x" } });
  await world.settle(); // what is sent in one turn of the event loop leaves together
  expect(sent.at(-1)).toContain('"sessionId":"x"');
});

test("a client that says nothing more still gets its agent loaded", async () => {
  const { world, handed, send } = start();
  await send(initialize);
  await world.advance(ACP_LIMITS.frontQuietMs);
  expect(handed.messages).toHaveLength(1);
});

test("what comes before initialize, and a malformed initialize, are left to the agent", async () => {
  const { world, handed, sent, send } = start();
  await send({ id: 1, method: "initialize", params: {} });
  await send(newSession(2));
  await world.advance(0);
  expect(sent).toEqual([]);
  expect(handed.messages).toMatchObject([{ id: 1 }, { id: 2 }]);
});

test("the end of input closes the agent's stream", async () => {
  const { world, input, front, handed, send } = start();
  await send(initialize);
  await world.advance(ACP_LIMITS.frontQuietMs);
  input.end();
  await front.closed;
  await world.settle();
  expect(handed.isOver).toBe(true);
});

test("a session/new that comes while the agent loads is answered at once; once it is loaded, by the agent", async () => {
  const { world, sent, handed, send } = start();
  await send(initialize);
  await world.advance(ACP_LIMITS.frontQuietMs);
  expect(handed.write).toBeDefined();
  await send(newSession(1));
  expect(sent).toHaveLength(2);
  handed.take();
  expect(handed.promised).toHaveLength(1);
  await send(newSession(2));
  expect(sent).toHaveLength(2);
  expect(handed.promised).toHaveLength(1);
});
