// A link whose requests are spans by the semantic conventions for MCP, and tell the server which trace they belong to.
import { unreachable } from "../../base/id.js";
import type { JsonObject } from "../../base/json/json.js";
import { inSpan, type Span, type SpanAttributes, type Telemetry, type TraceContext } from "../../base/ports/trace.js";
import type { RequestOptions, RpcOutcome } from "../rpc/rpc.js";
import { isRemote, type ServerSpec } from "../spec.js";
import type { Link } from "./link.js";

/** Costs a request nothing while nobody listens. */
export function watchedLink(link: Link, spec: ServerSpec, telemetry: Telemetry | undefined): Link {
  if (!telemetry) return link;
  const place = placeOf(spec);
  return {
    ...link,
    request: (method, params, options) =>
      telemetry.isActive
        ? requestInSpan({ link, telemetry, place }, { method, params }, options)
        : link.request(method, params, options),
  };
}

interface Watch {
  readonly link: Link;
  readonly telemetry: Telemetry;
  readonly place: SpanAttributes;
}

interface Request {
  readonly method: string;
  readonly params: JsonObject;
}

async function requestInSpan(watch: Watch, request: Request, options: RequestOptions): Promise<RpcOutcome> {
  const { link, telemetry, place } = watch;
  const { sessionId } = link.wire;
  const attributes: SpanAttributes = {
    "mcp.method.name": request.method,
    "mcp.protocol.version": link.agreement.protocolVersion,
    "mcp.session.id": sessionId,
    ...place,
    ...targetOf(request),
  };
  const outer = telemetry.current;
  // By the convention a call that is traced already gets the attributes instead of a span of its own.
  if (request.method === "tools/call" && outer?.operation === "execute_tool") {
    outer.set(withoutGenAi(attributes));
    return await send(watch, request, { options, span: outer });
  }
  const target = attributes["gen_ai.tool.name"] ?? attributes["gen_ai.prompt.name"];
  const name = typeof target === "string" ? `${request.method} ${target}` : request.method;
  return await inSpan(telemetry, { name, kind: "client", attributes }, (span) =>
    send(watch, request, { options, span }),
  );
}

async function send(
  { link, telemetry }: Watch,
  { method, params }: Request,
  { options, span }: { readonly options: RequestOptions; readonly span: Span },
): Promise<RpcOutcome> {
  const { context } = telemetry;
  const outcome = await link.request(method, context ? withContext(params, context) : params, {
    ...options,
    onSent: (id) => {
      span.set({ "jsonrpc.request.id": String(id) });
      options.onSent?.(id);
    },
  });
  note(span, method, outcome);
  return outcome;
}

/** The keys are the ones the protocol sets aside for this, without a prefix. */
function withContext(params: JsonObject, context: TraceContext): JsonObject {
  const meta = params["_meta"];
  return { ...params, _meta: Object.assign({}, meta, context) };
}

function note(span: Span, method: string, outcome: RpcOutcome): void {
  switch (outcome.kind) {
    case "result":
      if (method === "tools/call" && outcome.result["isError"] === true) span.fail("tool_error");
      break;
    case "error": {
      const { code, message } = outcome.error;
      span.set({ "rpc.response.status_code": String(code) });
      span.fail(String(code), message);
      break;
    }
    case "timed_out":
      span.fail("timeout");
      break;
    case "lost":
      span.fail(outcome.loss.error.code, outcome.loss.error.message);
      break;
    case "cancelled": // by us, on purpose: no error
      break;
    default:
      unreachable(outcome);
  }
}

function targetOf({ method, params }: Request): SpanAttributes {
  const { name, uri } = params;
  switch (method) {
    case "tools/call":
      return { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": textOf(name) };
    case "prompts/get":
      return { "gen_ai.prompt.name": textOf(name) };
    default:
      return { "mcp.resource.uri": textOf(uri) };
  }
}

/** The outer span names the tool as the model does. */
function withoutGenAi(attributes: SpanAttributes): SpanAttributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !name.startsWith("gen_ai.")));
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function placeOf(spec: ServerSpec): SpanAttributes {
  if (!isRemote(spec)) return spec.kind === "stdio" ? { "network.transport": "pipe" } : {};
  const { hostname, port, protocol } = new URL(spec.url);
  return {
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "server.address": hostname,
    "server.port": port === "" ? (protocol === "http:" ? 80 : 443) : Number(port),
  };
}
