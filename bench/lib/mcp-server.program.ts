// A raw MCP server for benches, over stdio or HTTP: no SDK and next to no work, so that what is measured is the client.
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue, parseObject } from "../../src/base/json/json.js";
import type { ServerSettings } from "./mcp-target.js";

const NEWLINE = 0x0a;
const settings: ServerSettings = JSON.parse(process.argv[2] ?? "{}");

/** An answer as the pieces to write: a large result is one buffer that is sent again and again. */
type Pieces = readonly (string | Buffer)[];

const images = new Map<number, Buffer>();

function answer(message: JsonObject): Pieces | undefined {
  const { id, method, params } = message;
  if (id === undefined || typeof method !== "string") return undefined;
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`;
  const given = isJsonObject(params) ? params : {};
  switch (method) {
    case "initialize":
      return [`${head}"result":${INITIALIZED}}`];
    case "server/discover":
      return settings.isModern ? [`${head}"result":${DISCOVERED}}`] : refusal(head, method);
    case "tools/list":
      return [`${head}"result":${JSON.stringify(page(given["cursor"]))}}`];
    case "tools/call":
      return called(head, given);
    default:
      return refusal(head, method);
  }
}

function refusal(head: string, method: string): Pieces {
  return [`${head}"error":{"code":-32601,"message":"Method not found: ${method}"}}`];
}

const CAPABILITIES = { tools: {} };
const SERVER_INFO = { name: "raw", version: "1.0.0" };
const INITIALIZED = JSON.stringify({
  protocolVersion: "2025-11-25",
  capabilities: CAPABILITIES,
  serverInfo: SERVER_INFO,
});
const DISCOVERED = JSON.stringify({
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: CAPABILITIES,
  serverInfo: SERVER_INFO,
});
const COMPLETE = settings.isModern ? '"resultType":"complete",' : "";

function called(head: string, { name, arguments: args }: JsonObject): Pieces {
  const given = isJsonObject(args) ? args : {};
  if (name === "image") {
    const start = `${head}"result":{${COMPLETE}"content":[{"type":"image","mimeType":"image/png","data":"`;
    return [start, image(Number(given["bytes"])), '"}]}}'];
  }
  const text = JSON.stringify(given["text"] ?? "");
  const structured = name === "structured" ? `,"structuredContent":{"text":${text},"count":1}` : "";
  return [`${head}"result":{${COMPLETE}"content":[{"type":"text","text":${text}}]${structured}}}`];
}

function image(bytes: number): Buffer {
  const known = images.get(bytes);
  if (known) return known;
  const pattern = Buffer.alloc(bytes);
  for (let index = 0; index < bytes; index++) pattern[index] = (index * 31) & 0xff;
  const made = Buffer.from(pattern.toString("base64"), "latin1");
  images.set(bytes, made);
  return made;
}

function page(cursor: JsonValue | undefined): JsonObject {
  const { toolCount = 1, pageSize = 250 } = settings;
  const start = cursor === undefined ? 0 : Number(cursor);
  const end = Math.min(start + pageSize, toolCount);
  const tools: JsonObject[] = [];
  for (let index = start; index < end; index++) tools.push(tool(index));
  const rest = end < toolCount ? { nextCursor: String(end) } : {};
  return settings.isModern ? { resultType: "complete", tools, ...rest } : { tools, ...rest };
}

/** The first three are the ones that are called; the rest is about as long as real tools are. */
function tool(index: number): JsonObject {
  if (index === 0) return { name: "echo", description: "Gives the text back.", inputSchema: TAKES_TEXT };
  if (index === 1) return { name: "image", description: "An image of so many bytes.", inputSchema: TAKES_BYTES };
  const owner = settings.isDistinct ? ` of ${settings.name}` : "";
  return {
    name: index === 2 ? "structured" : `tool_${index}`,
    description: `Tool number ${index}${owner}: takes a text and some settings, and gives back what becomes of it.`,
    inputSchema: {
      type: "object",
      properties: {
        text: TEXT,
        path: { type: "string", description: "Where to look, relative to the root.", minLength: 1 },
        count: { type: "integer", minimum: 0, maximum: 1000, default: 10 },
        mode: { type: "string", enum: ["fast", "exact", `mode-${index}`] },
        tags: { type: "array", items: { type: "string" }, maxItems: 20 },
      },
      required: ["text"],
    },
    outputSchema: {
      type: "object",
      properties: { text: TEXT, count: { type: "integer", minimum: 0 } },
      required: ["text", "count"],
    },
  };
}

const TEXT = { type: "string", description: "The text that is worked on, in any language and of any length." };
const TAKES_TEXT = { type: "object", properties: { text: TEXT }, required: ["text"] };
const TAKES_BYTES = { type: "object", properties: { bytes: { type: "integer" } }, required: ["bytes"] };

function parsed(text: string): JsonObject | undefined {
  return parseObject(text);
}

/** All that one read brings is answered with one write: this side must not be what limits the rate. */
class StdioServer {
  #held: Buffer[] = [];

  start(): void {
    // The moment from which it could answer: what comes after it is up to its client.
    log(`${settings.name ?? "?"} ${performance.timeOrigin + performance.now()}`);
    process.stdin.on("data", (chunk: Buffer) => this.#receive(chunk));
    process.stdin.on("end", () => process.exit(0));
  }

  #receive(chunk: Buffer): void {
    let text = "";
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...this.#held, chunk.subarray(start, end)]).toString("utf8");
      this.#held = [];
      start = end + 1;
      const message = parsed(line);
      const pieces = message && answer(message);
      for (const piece of pieces ?? []) {
        if (typeof piece === "string") text += piece;
        else {
          process.stdout.write(text);
          process.stdout.write(piece);
          text = "";
        }
      }
      if (pieces) text += "\n";
    }
    if (start < chunk.length) this.#held.push(chunk.subarray(start));
    if (text !== "") process.stdout.write(text);
  }
}

function serveHttp(): void {
  const server = createServer((request, response) => {
    if (request.method === "POST") receive(request, response);
    else response.writeHead(405).end();
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
  });
  process.stdin.on("end", () => process.exit(0)).resume();
}

function receive(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const message = parsed(Buffer.concat(chunks).toString("utf8"));
    const pieces = message && answer(message);
    if (!pieces) response.writeHead(202).end();
    else if (request.url === "/sse")
      reply(response, "text/event-stream", ["event: message\ndata: ", ...pieces, "\n\n"]);
    else reply(response, "application/json", pieces);
  });
}

function reply(response: ServerResponse, type: string, pieces: Pieces): void {
  const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  response.writeHead(200, { "content-type": type, "content-length": length });
  for (const piece of pieces.slice(0, -1)) response.write(piece);
  response.end(pieces.at(-1));
}

function log(line: string): void {
  if (settings.spawnLog !== undefined) appendFileSync(settings.spawnLog, `${line}\n`);
}

function main(): void {
  log(settings.name ?? "?");
  if (settings.fault === "exit") process.exit(1);
  if (settings.fault === "hang") process.stdin.on("end", () => process.exit(0)).resume();
  else if (settings.transport === "http") serveHttp();
  else if (settings.delayMs === undefined) new StdioServer().start();
  else setTimeout(() => new StdioServer().start(), settings.delayMs);
}

main();
