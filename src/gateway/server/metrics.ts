// The page of figures, in the text form of Prometheus.
import { Counter, Gauge, Registry } from "prom-client";
import type { World } from "../../base/ports/world.js";
import type { RefusalReason } from "../access/guard.js";
import type { NodeFigures } from "../nodes/nodes.js";
import type { GatewayStatus } from "../protocol.js";

/** What the sessions of a gateway count; asked for with each look at the page. */
export interface GatewayFigures {
  readonly sessions: GatewayStatus["sessions"];
  readonly clients: number;
  readonly questions: number;
  readonly oldestQuestionMs: number;
  /** Since the start. */
  readonly turns: number;
  readonly records: number;
  /** Of one among several nodes. */
  readonly node?: NodeFigures & { readonly takeovers: number };
}

export type RequestOutcome = "taken" | "denied" | "limited" | "malformed";

export class GatewayMetrics {
  readonly #registry = new Registry();
  readonly #refused: Counter;
  readonly #requests: Counter;

  constructor(world: World, given: { figures?: () => GatewayFigures; connections: () => Record<string, number> }) {
    const startedMs = world.monotonicMs();
    const registers = [this.#registry];
    const counter = (name: string, help: string, label: string) =>
      new Counter({ name: `tenon_gateway_${name}`, help, labelNames: [label], registers });
    this.#refused = counter("refused_total", "Requests and connections refused before their body was read.", "reason");
    this.#requests = counter("requests_total", "Messages of clients with a method, by what became of them.", "outcome");
    const gauge = (name: string, help: string, read: () => number | Readonly<Record<string, number>>, label?: string) =>
      new Gauge({
        name: `tenon_${name}`,
        help,
        registers,
        labelNames: label === undefined ? [] : [label],
        collect() {
          const value = read();
          if (typeof value === "number") this.set(value);
          else for (const [key, count] of Object.entries(value)) this.labels(key).set(count);
        },
      });
    gauge("gateway_connections", "Open connections of clients.", given.connections, "transport");
    gauge("gateway_uptime_seconds", "Since the gateway started.", () => (world.monotonicMs() - startedMs) / 1_000);
    gauge("gateway_resident_bytes", "Memory of the gateway and its servers.", () => residentBytes(world));
    const { figures } = given;
    if (!figures) return;
    gauge("sessions", "Open sessions by state.", () => figures().sessions, "state");
    gauge("session_clients", "Clients attached to sessions.", () => figures().clients);
    gauge("questions_waiting", "Questions without an answer.", () => figures().questions);
    gauge("question_age_seconds", "Age of the oldest of them.", () => figures().oldestQuestionMs / 1_000);
    gauge("turns_total", "Turns since the start.", () => figures().turns);
    gauge("records_total", "Records appended since the start.", () => figures().records);
    if (!figures().node) return;
    const ofNode = (name: string, help: string, read: (node: NonNullable<GatewayFigures["node"]>) => number) =>
      gauge(name, help, () => {
        const { node } = figures();
        return node ? read(node) : 0;
      });
    ofNode("takeovers_total", "Sessions taken from nodes that were gone.", ({ takeovers }) => takeovers);
    ofNode(
      "refused_appends_total",
      "Appends refused because another node owns the session.",
      (node) => node.refusedAppends,
    );
    ofNode("append_batches_total", "Statements that appended records.", ({ appendBatches }) => appendBatches);
    ofNode("append_seconds_total", "How long these took together.", ({ appendMs }) => appendMs / 1_000);
    ofNode("lease_seconds_left", "Of this node's lease; 0 without one.", ({ leaseLeftMs = 0 }) => leaseLeftMs / 1_000);
    ofNode("inbox_depth", "Messages to and from other nodes that wait.", ({ inboxDepth }) => inboxDepth);
  }

  refused(reason: RefusalReason): void {
    this.#refused.labels(reason).inc();
  }

  request(outcome: RequestOutcome): void {
    this.#requests.labels(outcome).inc();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }
}

function residentBytes({ processes }: World): number {
  return processes.memoryOf([processes.ownId])?.get(processes.ownId) ?? 0;
}
