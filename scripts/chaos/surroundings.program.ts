// What the nodes of the chaos run talk to, in a process that no fault reaches: a server that writes down every call, and a model.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../src/base/json/json.js";

export interface SurroundingsJob {
  readonly address: string;
  /** Calls of one turn; the model ends it after so many results. */
  readonly steps: number;
  /** How long a call takes after it was written down, at least and at most: so most faults fall into calls. */
  readonly callMs: readonly [number, number];
}

/** Calls by their nonce, in the order in which they came. */
export interface WrittenDown {
  readonly calls: readonly string[];
  /** Requests for which the model found no prompt of the chaos run: a fault of the run itself. */
  readonly odd: readonly string[];
}

/** Of the prompts of `ChaosSession`. */
const PROMPT = /chaos session (\d+) turn (\d+):/u;
const TOOL = {
  name: "write_down",
  description: "Writes a nonce down. A second time is a second line.",
  inputSchema: { type: "object", properties: { nonce: { type: "string" } }, required: ["nonce"] },
  annotations: { readOnlyHint: false, idempotentHint: false },
};

const job: SurroundingsJob = JSON.parse(process.argv[2] ?? "{}");
const calls: string[] = [];
const odd: string[] = [];

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === "GET" && request.url === "/written-down") return json(response, { calls, odd });
  const body = await bodyOf(request);
  const isPost = request.method === "POST" && body !== undefined;
  if (isPost && request.url === "/mcp") await mcp(body, response);
  else if (isPost && request.url === "/v1/chat/completions") complete(body, response);
  else response.writeHead(405).end();
}

async function bodyOf(request: IncomingMessage): Promise<JsonObject | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return parseObject(Buffer.concat(chunks).toString("utf8"));
}

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

async function mcp({ id, method, params }: JsonObject, response: ServerResponse): Promise<void> {
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const answer = (result: object) => json(response, { jsonrpc: "2.0", id, result });
  switch (method) {
    case "initialize": {
      const version = isJsonObject(params) ? params["protocolVersion"] : undefined;
      const serverInfo = { name: "ledger", version: "1" };
      return answer({ protocolVersion: version ?? "2025-11-25", capabilities: { tools: {} }, serverInfo });
    }
    case "ping":
      return answer({});
    case "tools/list":
      return answer({ tools: [TOOL] });
    case "tools/call": {
      const given = isJsonObject(params) && isJsonObject(params["arguments"]) ? params["arguments"] : {};
      const nonce = typeof given["nonce"] === "string" ? given["nonce"] : "no nonce";
      calls.push(nonce);
      const [least, most] = job.callMs;
      await sleep(least + Math.random() * (most - least));
      return answer({ content: [{ type: "text", text: `line ${calls.length}: ${nonce}` }] });
    }
    default:
      json(response, { jsonrpc: "2.0", id, error: { code: -32601, message: "no such method" } });
  }
}

/** The step is the number of results since the prompt: a turn that goes on elsewhere goes on with the next one. */
function nextNonce(messages: readonly JsonObject[]): string | undefined {
  const textOf = ({ content }: JsonObject) => JSON.stringify(content ?? "");
  const at = messages.findLastIndex((message) => message["role"] === "user" && PROMPT.test(textOf(message)));
  const [, session, turn] = PROMPT.exec(textOf(messages[at] ?? {})) ?? [];
  if (session === undefined) {
    odd.push(JSON.stringify(messages.at(-1) ?? null).slice(0, 500));
    return undefined;
  }
  const step = messages.slice(at + 1).filter(({ role }) => role === "tool").length;
  return step < job.steps ? `s${session}.t${turn}.${step}` : undefined;
}

function complete(body: JsonObject, response: ServerResponse): void {
  const messages = Array.isArray(body["messages"]) ? body["messages"].filter((one) => isJsonObject(one)) : [];
  const nonce = nextNonce(messages);
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: JsonObject, finish: string | null = null) => {
    const choices: JsonValue = [{ index: 0, delta, finish_reason: finish }];
    response.write(
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "chaos", choices })}\n\n`,
    );
  };
  send({ role: "assistant", content: nonce === undefined ? "All of it " : "Step " });
  send({ content: nonce === undefined ? "is written down." : `${nonce}.` });
  if (nonce !== undefined) {
    const call = { name: nameOfTool(body), arguments: JSON.stringify({ nonce }) };
    send({ tool_calls: [{ index: 0, id: `call-${nonce}`, type: "function", function: call }] });
  }
  send({}, nonce === undefined ? "stop" : "tool_calls");
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  response.write(
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "chaos", choices: [], usage })}\n\n`,
  );
  response.end("data: [DONE]\n\n");
}

function nameOfTool(body: JsonObject): string {
  return /"([^"]*write_down)"/u.exec(JSON.stringify(body["tools"] ?? []))?.[1] ?? "write_down";
}

async function main(): Promise<void> {
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      odd.push(String(error));
      response.destroy();
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, job.address);
  await once(server, "listening");
  const address = server.address();
  process.send?.({ port: typeof address === "object" ? address?.port : undefined });
}

process.on("disconnect", () => process.exit(0));
await main();
