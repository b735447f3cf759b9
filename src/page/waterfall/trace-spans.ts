// The waterfall of a wire trace: what was asked over ACP, MCP, HTTP and of the machine, and when the answers came.
import { defined } from "../../base/json/defined.js";
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import { isObject, objectAt, objectsAt, textAt, written } from "../wire/json.js";
import type { Span, SpanGroup } from "./spans.js";

/** A line of a trace. */
export interface TraceEntry {
  /** Milliseconds since the epoch. */
  readonly t: number;
  readonly channel: "acp" | "mcp" | "model" | "host";
  readonly dir: "in" | "out";
  readonly server?: string;
  readonly connection?: number;
  readonly message: JsonObject;
}

type Begun = Omit<Span, "id" | "startMs" | "status">;

/** Each turn is a group; what came before the first is one too. */
export function spansOfTrace(entries: readonly TraceEntry[]): readonly SpanGroup[] {
  const reader = new TraceReader();
  for (const entry of entries) reader.read(entry);
  return reader.groups();
}

class TraceReader {
  readonly #spans: Span[] = [];
  readonly #turns: { title: string; startMs: number; endMs?: number; note?: string }[] = [];
  readonly #open = new Map<string, number>();

  read({ t, channel, dir, server = "", connection = 0, message }: TraceEntry): void {
    switch (channel) {
      case "acp":
        return this.#acp(dir, message, t);
      case "mcp":
        return this.#mcp({ dir, server, message, t }, `mcp ${connection}`);
      case "model":
        return this.#model(message, t);
      case "host":
        return this.#host(message, t);
    }
  }

  groups(): readonly SpanGroup[] {
    const first = this.#spans[0]?.startMs ?? this.#turns[0]?.startMs ?? 0;
    const turns = [{ title: "", startMs: first }, ...this.#turns];
    const groups = turns.map((turn, index): SpanGroup => {
      const until = turns[index + 1]?.startMs ?? Number.POSITIVE_INFINITY;
      const spans = this.#spans.filter(({ startMs }) => startMs < until && (index === 0 || startMs >= turn.startMs));
      return { ...turn, spans };
    });
    return groups.filter(({ title, spans }) => title !== "" || spans.length > 0);
  }

  /** Prompts are turns, and what is asked of the person is a span. */
  #acp(dir: "in" | "out", message: JsonObject, t: number): void {
    const [id, method] = [written(message["id"]), textAt(message, "method")];
    if (method === "session/prompt" && dir === "in") {
      const title = objectsAt(objectAt(message, "params"), "prompt").flatMap((block) => textAt(block, "text") ?? []);
      this.#open.set(`turn ${id}`, this.#turns.length);
      this.#turns.push({ title: title.join(" "), startMs: t });
    } else if (method !== undefined && dir === "out" && message["id"] !== undefined) {
      const kind = method === "session/request_permission" || method === "elicitation/create" ? "question" : "other";
      this.#begin(`asked ${id}`, t, { kind, label: method, ...defined({ input: message["params"] }) });
    } else if (method === undefined && dir === "in") this.#end(`asked ${id}`, t, answerOf(message));
    else if (method === undefined && dir === "out") this.#endTurn(`turn ${id}`, t, message);
  }

  #endTurn(key: string, t: number, message: JsonObject): void {
    const turn = this.#turns[this.#open.get(key) ?? -1];
    if (!turn) return;
    turn.endMs = t;
    const failure = textAt(objectAt(message, "error"), "message");
    if (failure !== undefined) turn.note = `failed: ${failure}`;
  }

  /** From `open` to the first answer a server is being started. */
  #mcp(entry: Pick<TraceEntry, "dir" | "message" | "t"> & { readonly server: string }, connection: string): void {
    const { dir, server, message, t } = entry;
    const [id, method] = [message["id"], textAt(message, "method")];
    const key = `${connection} ${dir === "out" ? written(id) : written(id)}`;
    if (message["open"] !== undefined) {
      return this.#begin(`${connection} start`, t, {
        kind: "server",
        label: `start ${server}`,
        input: message["open"],
      });
    }
    if (message["closed"] !== undefined || message["lost"] !== undefined) {
      this.#end(`${connection} start`, t, { status: "failed", output: written(message) });
      for (const open of [...this.#open.keys()].filter((one) => one.startsWith(`${connection} `)))
        this.#end(open, t, { status: "unknown", output: written(message) });
      return;
    }
    if (dir === "out" && method !== undefined && id !== undefined) {
      const params = objectAt(message, "params");
      const isCall = method === "tools/call";
      const label = isCall ? `${server} / ${textAt(params, "name") ?? "?"}` : `${server}: ${method}`;
      const input: JsonValue | undefined = isCall ? params["arguments"] : message["params"];
      this.#begin(key, t, { kind: isCall ? "tool" : "server", label, ...defined({ input }) });
    } else if (dir === "in" && method === undefined) {
      if (message["result"] !== undefined) this.#end(`${connection} start`, t, { status: "done" });
      this.#end(key, t, answerOf(message));
    }
  }

  #model(message: JsonObject, t: number): void {
    const key = `model ${written(message["exchange"])}`;
    switch (textAt(message, "kind")) {
      case "request": {
        const model = textAt(objectAt(message, "body"), "model") ?? textAt(message, "url") ?? "model";
        return this.#begin(key, t, { kind: "model", label: model, ...defined({ input: message["body"] }) });
      }
      case "events":
      case "body":
        return this.#add(key, textAt(message, "text") ?? written(message["body"] ?? ""));
      case "end":
        return this.#end(key, t, { status: "done" });
      case "failed":
        return this.#end(key, t, { status: "failed", output: written(message) });
      default:
        break;
    }
  }

  /** Tenon's own tools; the rest of what the machine is asked is no work of a turn. */
  #host(message: JsonObject, t: number): void {
    const key = `host ${written(message["question"])}`;
    if (textAt(message, "ask") === "tool") {
      const about = objectAt(message, "about");
      const label = textAt(about, "tool") ?? textAt(about, "name") ?? "tool";
      return this.#begin(key, t, { kind: "tool", label: `Tenon / ${label}`, input: about });
    }
    if (message["answer"] !== undefined) this.#end(key, t, { status: "done", output: written(message["answer"]) });
  }

  #begin(key: string, startMs: number, begun: Begun): void {
    this.#open.set(key, this.#spans.length);
    this.#spans.push({ id: `${this.#spans.length}`, startMs, status: "running", ...begun });
  }

  #add(key: string, text: string): void {
    const at = this.#open.get(key);
    const span = at === undefined ? undefined : this.#spans[at];
    if (at !== undefined && span) this.#spans[at] = { ...span, output: (span.output ?? "") + text };
  }

  #end(key: string, endMs: number, end: { readonly status: string; readonly output?: string }): void {
    const at = this.#open.get(key);
    const span = at === undefined ? undefined : this.#spans[at];
    this.#open.delete(key);
    if (at !== undefined && span) this.#spans[at] = { ...span, endMs, ...end };
  }
}

function answerOf(message: JsonObject): { readonly status: string; readonly output: string } {
  const { error, result } = message;
  if (error !== undefined) return { status: "failed", output: written(error) };
  const isError = isObject(result) && result["isError"] === true;
  const texts = objectsAt(result, "content").map((block) => textAt(block, "text") ?? written(block));
  return { status: isError ? "failed" : "done", output: texts.length > 0 ? texts.join("\n") : written(result) };
}
