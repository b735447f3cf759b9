// The view for programs: every update as it came over the wire, one JSON text a line, and nothing else on the output.

import { type ClientApp, methods } from "@agentclientprotocol/sdk";
import { defined } from "../../base/json/defined.js";
import { visible, visibleJson } from "../terminal/visible.js";
import type { ChatFailure, TurnOutcome } from "./outcome.js";
import type { ChatView } from "./view.js";

export class JsonView implements ChatView {
  readonly #output: NodeJS.WritableStream;
  readonly #errorOutput: NodeJS.WritableStream;

  constructor(output: NodeJS.WritableStream, errorOutput: NodeJS.WritableStream) {
    this.#output = output;
    this.#errorOutput = errorOutput;
  }

  /** Takes the parameters unparsed: the SDK's schemas drop fields they do not know. */
  listen(client: ClientApp): ClientApp {
    const method = methods.client.session.update;
    const unparsed = (params: unknown): unknown => params;
    return client.onNotification(method, unparsed, ({ params }) => this.#print({ method, params }));
  }

  turnStarted(): void {}

  turnEnded(outcome: TurnOutcome): void {
    switch (outcome.kind) {
      case "stopped":
        this.#print({ result: { stopReason: outcome.stopReason } });
        break;
      case "failed":
        this.failed(outcome.failure);
        break;
      case "abandoned":
        break;
    }
  }

  failed({ code, message, hint, data }: ChatFailure): void {
    this.#print({
      error: { ...defined({ code }), message, ...defined({ data }) },
    });
    this.#errorOutput.write(`tenon: ${visible(message)}${hint === undefined ? "" : `\n  ${visible(hint)}`}\n`);
  }

  #print(value: unknown): void {
    this.#output.write(`${visibleJson(JSON.stringify(value))}\n`);
  }
}
