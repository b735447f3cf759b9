// Runs a recording again: what came in then comes in again in that order, each once all that was sent before it is sent again.
import type { Stream } from "@agentclientprotocol/sdk";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import type { HostQuestion, ReplayedConnection, WireReplay } from "../../base/ports/trace.js";
import type { Fetch } from "../../base/ports/world.js";
import { Comparison, type Difference } from "./comparison.js";
import type { Expected } from "./expectation.js";
import { SessionNames } from "./names.js";
import type { Entry, Recording } from "./recording.js";
import { ReplayedClient } from "./replayed-client.js";
import { ReplayedMachine } from "./replayed-machine.js";
import { ReplayedModel } from "./replayed-model.js";
import { ReplayedServers } from "./replayed-servers.js";

export type Replayed =
  | { readonly kind: "same"; readonly counts: Readonly<Record<string, number>> }
  | { readonly kind: "different"; readonly difference: Difference }
  /** From this line on the recording is not whole: so far it was the same. */
  | { readonly kind: "cut"; readonly seq: number };

export interface ReplayerOptions {
  /** Resolves after so many milliseconds: nothing that happened then may take longer now. */
  readonly stalled: (signal: AbortSignal) => Promise<void>;
  /** Lets the agent do what it can do now. */
  readonly settle: () => Promise<void>;
}

export class Replayer implements WireReplay {
  readonly #options: ReplayerOptions;
  readonly #entries: readonly Entry[];
  readonly #comparison: Comparison;
  readonly #client: ReplayedClient;
  readonly #servers: ReplayedServers;
  readonly #model: ReplayedModel;
  readonly #machine: ReplayedMachine;
  #now = 0;

  constructor({ entries }: Recording, options: ReplayerOptions) {
    const names = new SessionNames();
    this.#options = options;
    this.#entries = entries;
    this.#comparison = new Comparison(entries, options.stalled);
    this.#client = new ReplayedClient(entries, this.#comparison, names);
    this.#servers = new ReplayedServers(this.#comparison);
    this.#model = new ReplayedModel(this.#comparison);
    this.#machine = new ReplayedMachine(this.#comparison.expectations, names);
    this.#now = entries[0]?.t ?? 0;
  }

  /** As it was then. */
  get now(): number {
    return this.#now;
  }

  /** The client's end of the agent's connection. */
  stream(): Stream {
    return this.#client.stream();
  }

  connect(server: string, onEntry: (entry: JsonObject) => void): ReplayedConnection {
    return this.#servers.connect(server, onEntry);
  }

  ask(question: HostQuestion): Promise<JsonValue | undefined> {
    return this.#machine.ask(question);
  }

  get fetch(): Fetch {
    return this.#model.fetch;
  }

  async run(): Promise<Replayed> {
    try {
      return await this.#run();
    } finally {
      this.#machine.end();
      this.#model.end();
    }
  }

  async #run(): Promise<Replayed> {
    const comparison = this.#comparison;
    for (const input of this.#entries.filter(({ dir }) => dir === "in")) {
      if (input.isCut) return { kind: "cut", seq: input.seq };
      await comparison.until(input.seq);
      if (comparison.difference) return { kind: "different", difference: comparison.difference };
      this.#now = input.t;
      this.#deliver(input);
      await this.#options.settle();
    }
    await comparison.until(Number.POSITIVE_INFINITY);
    if (comparison.difference) return { kind: "different", difference: comparison.difference };
    return { kind: "same", counts: this.#counts() };
  }

  #deliver({ channel, message, connection = 0 }: Entry): void {
    switch (channel) {
      case "acp":
        return this.#client.say(message);
      case "mcp":
        return this.#servers.say(connection, message);
      case "model":
        return this.#model.say(message);
      case "host":
        return this.#machine.say(message);
    }
  }

  #counts(): Readonly<Record<string, number>> {
    const met = this.#comparison.expectations.all.filter(({ isMet }) => isMet);
    const of = (test: (one: Expected) => boolean) => met.filter(test).length;
    return {
      prompts: this.#client.promptCount,
      modelRequests: of(({ lane, said }) => lane === "model" && isJsonObject(said) && said["method"] !== "GET"),
      serverMessages: of(({ lane }) => lane.startsWith("mcp ")),
      clientMessages: of(({ lane }) => lane.startsWith("acp ") || lane.startsWith("answer ")),
      toolsOfTenon: of(({ said }) => isJsonObject(said) && said["ask"] === "tool"),
    };
  }
}
