// A model of the test's own: it answers as a script says and keeps every request it was sent.

import type { JsonObject } from "../../../src/base/json/json.js";
import { plainText } from "../../../src/base/text/content.js";
import type { Model, ModelEvent, ModelRequest } from "../../../src/models/index.js";

/** Words, or calls in their order. */
type Said = string | readonly { readonly name: string; readonly arguments: JsonObject | string }[];

type Script = (request: ModelRequest, index: number) => Said;

export class RecordedModel implements Model {
  readonly id: string;
  /** A window that no scenario fills: what it was sent stays as it was sent. */
  readonly abilities: NonNullable<Model["abilities"]> = {
    contextTokens: 10_000_000,
    images: true,
    audio: false,
    pdf: false,
    thinking: [],
  };
  readonly requests: ModelRequest[] = [];
  readonly #script: Script;
  #calls = 0;

  /** `openai/…` and the like: it is sent schemas in that provider's form. */
  constructor(script: Script, id = "test/recorded") {
    this.id = id;
    this.#script = script;
  }

  /** Takes images, as most models do. */
  accepts(mediaType: string): boolean {
    return mediaType.startsWith("image/");
  }

  async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void, void> {
    signal.throwIfAborted();
    const index = this.requests.push(copyOf(request)) - 1;
    const said = this.#script(request, index);
    if (typeof said === "string") yield { kind: "text", text: said };
    else {
      for (const { name, arguments: given } of said) {
        const argumentsJson = typeof given === "string" ? given : JSON.stringify(given);
        this.#calls += 1;
        yield { kind: "tool_call", call: { callId: `c${this.#calls}`, name, argumentsJson } };
      }
    }
    yield { kind: "finish", reason: typeof said === "string" ? "stop" : "tool_calls" };
  }

  /** What the model was offered in a request, by name. */
  offered(index = -1): readonly string[] {
    return this.requests.at(index)?.tools.map(({ name }) => name) ?? [];
  }
}

/** Passes everything on to another model, and keeps what it was sent. */
export class WatchedModel implements Model {
  readonly id: string;
  readonly requests: ModelRequest[] = [];
  readonly #model: Model;

  constructor(model: Model) {
    this.id = model.id;
    this.#model = model;
  }

  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    this.requests.push(copyOf(request));
    return this.#model.stream(request, signal);
  }
}

/** The conversation goes on after a request. */
function copyOf(request: ModelRequest): ModelRequest {
  return { ...request, messages: [...request.messages], tools: [...request.tools] };
}

/** The names of all tools that were called, in their order. */
export function calledTools(requests: readonly ModelRequest[]): readonly string[] {
  const last = requests.at(-1)?.messages ?? [];
  return last.flatMap((message) => (message.role === "assistant" ? message.toolCalls.map(({ name }) => name) : []));
}

/** One answer after the other, whatever comes; "done" when there are none left. */
export function inTurn(...answers: readonly Said[]): Script {
  return (_request, index) => answers[index] ?? "done";
}

export function calls(name: string, given: JsonObject = {}): Said {
  return [{ name, arguments: given }];
}

/** The texts of the latest results, one for each call. */
export function resultTexts(request: ModelRequest | undefined): readonly string[] {
  const latest = request?.messages.at(-1);
  return latest?.role === "tool" ? latest.results.map(({ content }) => plainText(content)) : [];
}
