// The agents of the stream bench, over stdio: Tenon as it is, the bare SDK, and one by hand. All stream what the prompt asks for.
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { Front, HostAccess, loadAgent } from "../../src/acp/index.js";
import { uuidV7 } from "../../src/base/id.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/base/json/json.js";
import { LineSplitter } from "../../src/base/json/ndjson.js";
import { createHost } from "../../src/session/index.js";
import { nodeWorld } from "../../src/world/index.js";
import { chunksOf, streamingModel as model, textIn } from "./model.js";
import { orderIn, type Side } from "./order.js";

const world = nodeWorld({ log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } });

function cpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function runTenon(): void {
  const runtime = createHost({ world, model });
  const front = new Front({
    input: process.stdin,
    output: process.stdout,
    world,
    newSessionId: () => uuidV7(Date.now(), (count) => world.randomBytes(count)),
    start: (stream, takePromised) => {
      loadAgent().then(
        ({ createAgent }) =>
          createAgent({ access: new HostAccess(runtime), promised: takePromised(), send: stream.send })
            .onRequest(
              "_bench/cpu",
              () => ({}),
              () => ({ cpuUs: cpuUs() }),
            )
            .connect(stream),
        fail,
      );
    },
  });
  front.closed.then(() => runtime.close()).then(() => process.exit(0), fail);
}

function runSdk(): void {
  const connection = agent({ name: "bare" })
    .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: crypto.randomUUID() }))
    .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
      const { sessionId } = params;
      for await (const text of chunksOf(orderIn(textIn(params.prompt)))) {
        await client.notify(methods.client.session.update, {
          sessionId,
          update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
        });
      }
      return { stopReason: "end_turn" };
    })
    .onRequest(
      "_bench/cpu",
      () => ({}),
      () => ({ cpuUs: cpuUs() }),
    )
    .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
  connection.closed.then(() => process.exit(0), fail);
}

/** What is possible: a line for each chunk, and nothing else. */
function runByHand(): void {
  const lines = new LineSplitter(1_048_576);
  const send = (message: JsonObject) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const prompt = async (id: JsonValue, params: JsonObject) => {
    const { sessionId = "" } = params;
    for await (const text of chunksOf(orderIn(JSON.stringify(params["prompt"])))) {
      const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
      send({ method: "session/update", params: { sessionId, update } });
    }
    send({ id, result: { stopReason: "end_turn" } });
  };
  process.stdin.on("end", () => process.exit(0));
  process.stdin.on("data", (chunk: Buffer) => {
    for (const line of lines.push(chunk)) {
      const message: JsonValue = line.kind === "line" ? JSON.parse(line.text) : null;
      if (!isJsonObject(message)) continue;
      const { id = null, method, params } = message;
      if (method === "session/prompt" && isJsonObject(params)) prompt(id, params).catch(fail);
      else send({ id, result: { protocolVersion: 1, sessionId: "s", cpuUs: cpuUs() } });
    }
  });
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

const RUN: Readonly<Record<Side, () => void>> = { sdk: runSdk, tenon: runTenon, "by hand": runByHand };
const side = Object.entries(RUN).find(([name]) => name === process.argv[2])?.[1];
if (side) side();
else fail(new Error(`there is no side ${process.argv[2]}`));
