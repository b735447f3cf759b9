// Sends one reply over HTTP in the format of the request, and does to the stream what the script says.
import type { ServerResponse } from "node:http";
import { unreachable } from "../../../base/id.js";
import { isJsonObject, type JsonObject } from "../../../base/json/json.js";
import type { Accepted, FaultResponse, ProviderFormat, StreamWriter } from "./format.js";
import {
  type Answer,
  type AnswerPart,
  type AnswerUsage,
  finishOf,
  type Incident,
  isIncident,
  type ProviderReply,
} from "./reply.js";

export interface Exchange {
  readonly format: ProviderFormat;
  readonly accepted: Accepted;
  readonly response: ServerResponse;
  /** Aborts when the client goes away or the provider is closed. */
  readonly stop: AbortSignal;
  /** Each event leaves in pieces of that many bytes, characters torn apart; whole when undefined. */
  readonly tearBytes: number | undefined;
  usageOf(answer: Pick<Answer, "parts" | "usage">): AnswerUsage;
}

export async function sendReply(reply: ProviderReply, exchange: Exchange): Promise<void> {
  const { format, accepted, response } = exchange;
  switch (reply.kind) {
    case "answer":
      return await sendStream(reply, exchange);
    case "cut":
      return await sendStream({ kind: "answer", parts: [...reply.parts, { kind: "cut" }] }, exchange);
    case "fault":
      return sendFault(format.fault(reply.fault, accepted.tools), response);
    case "error": {
      for (const [name, value] of Object.entries(reply.headers ?? {})) response.setHeader(name, value);
      return sendJson(response, reply.status, format.error(reply.message, reply.code ?? "server_error"));
    }
    case "raw":
      response.writeHead(reply.status, { "content-type": reply.contentType }).end(reply.body);
      return;
    default:
      return unreachable(reply);
  }
}

export function sendFault({ status, headers = {}, body }: FaultResponse, response: ServerResponse): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (isJsonObject(body)) return sendJson(response, status, body);
  openStream(response);
  response.end(body.join(""));
}

export function sendJson(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function sendStream(answer: Answer, exchange: Exchange): Promise<void> {
  const { accepted, response } = exchange;
  const writer = accepted.stream(exchange.usageOf(answer));
  const [first] = answer.parts;
  if (first?.kind === "pause") await pause(first.until, exchange); // not even the status comes before it
  openStream(response);
  for (const event of writer.start()) await write(event, exchange);
  for (const part of answer.parts) {
    const isOver = await sendPart(part, writer, exchange);
    if (isOver) return;
  }
  for (const event of writer.end(finishOf(answer))) await write(event, exchange);
  response.end();
}

function openStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
}

/** True when the stream is over. */
async function sendPart(part: AnswerPart, writer: StreamWriter, exchange: Exchange): Promise<boolean> {
  for (const event of isIncident(part) ? [part] : writer.part(part)) {
    if (typeof event === "string") await write(event, exchange);
    else if (await perform(event, writer, exchange)) return true;
  }
  return false;
}

async function perform(incident: Incident, writer: StreamWriter, exchange: Exchange): Promise<boolean> {
  const { response } = exchange;
  switch (incident.kind) {
    case "pause":
      await pause(incident.until, exchange);
      return false;
    case "ping":
      await write(writer.ping, exchange);
      return false;
    case "malformed":
      await write(`data: ${incident.text ?? '{"this is": no JSON'}\n\n`, exchange);
      return false;
    case "cut":
      response.destroy();
      return true;
    case "end_early":
      response.end();
      return true;
    case "fault_inside":
      for (const event of writer.fault(incident.fault)) await write(event, exchange);
      response.end();
      return true;
    default:
      return unreachable(incident);
  }
}

async function pause(until: Promise<void>, { stop }: Exchange): Promise<void> {
  stop.throwIfAborted();
  await Promise.race([
    until,
    new Promise<never>((_, reject) => stop.addEventListener("abort", () => reject(stop.reason), { once: true })),
  ]);
}

/** Each event leaves by itself before the next is made: a cut then comes after what was sent, not instead of it. */
async function write(text: string, { response, tearBytes }: Exchange): Promise<void> {
  const bytes = Buffer.from(text);
  const size = tearBytes ?? bytes.length;
  for (let start = 0; start < bytes.length; start += size) {
    await new Promise<void>((resolve, reject) => {
      response.write(bytes.subarray(start, start + size), (error) => (error ? reject(error) : resolve()));
    });
  }
}
