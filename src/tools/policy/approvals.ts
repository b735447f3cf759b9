// What the person has approved, bound to the definitions they were shown. A changed definition is another tool.
import { messageOf } from "../../base/errors.js";
import type { JsonObject } from "../../base/json.js";
import type { Log } from "../../base/log.js";
import type { ApprovalAnswer, ApprovalStore, ApprovalSubject, KeptTool, ServerIdentity } from "./approval.js";
import { definitionData, definitionDifference } from "./difference.js";

/** Where a tool stands with the person. */
export type Standing =
  | { readonly kind: "new" }
  | { readonly kind: "approved" }
  | { readonly kind: "never"; readonly decidedAt?: string }
  /** It was approved with another definition. `difference` is for people, a line each. */
  | { readonly kind: "changed"; readonly difference: readonly string[]; readonly isHeld: boolean };

export interface ApprovalsOptions {
  readonly log: Log;
  /** Without one nothing outlives the session. */
  readonly store?: ApprovalStore;
  /** By origin and name alone unless given, and then for the session only. */
  identify?(subject: ApprovalSubject): ServerIdentity;
}

interface Accepted {
  readonly hash: string;
  readonly definition: JsonObject | undefined;
  /** It may run without asking; else it was only let through once, and is known for the difference. */
  readonly isApproved: boolean;
  /** Seen to be in force in this session: a change from now on holds it back. */
  readonly isPinned: boolean;
  readonly decidedAt: string;
}

interface ServerMemory {
  readonly accepted: Map<string, Accepted>;
  /** With when it was said, if that is known. */
  readonly refused: Map<string, string | undefined>;
  loaded: Promise<void> | undefined;
}

export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #servers = new Map<string, ServerMemory>();

  constructor(options: ApprovalsOptions) {
    this.#options = options;
  }

  /** Reads what is remembered of the servers of these tools, each once. Before that nothing of it counts. Never rejects. */
  async load(subjects: readonly ApprovalSubject[]): Promise<void> {
    const loads = new Set<Promise<void>>();
    for (const subject of subjects) {
      const server = this.#identify(subject);
      const memory = this.#memoryOf(server);
      memory.loaded ??= this.#read(server, memory);
      loads.add(memory.loaded);
    }
    await Promise.all(loads);
  }

  standing(subject: ApprovalSubject): Standing {
    const { name } = subject.definition;
    const memory = this.#memoryOf(this.#identify(subject));
    const refusedAt = memory.refused.get(name);
    if (memory.refused.has(name))
      return { kind: "never", ...(refusedAt === undefined ? {} : { decidedAt: refusedAt }) };
    const accepted = memory.accepted.get(name);
    if (!accepted) return { kind: "new" };
    if (accepted.hash === subject.definitionHash) return { kind: accepted.isApproved ? "approved" : "new" };
    const difference = definitionDifference(accepted.definition, subject.definition);
    return { kind: "changed", difference, isHeld: accepted.isPinned };
  }

  /**
   * Whether the tool was in force in this session with another definition: until that is approved, a model should not
   * even read it. A change between two sessions only asks again. Cheap: a hash is read only of tools decided on.
   */
  isHeld(subject: ApprovalSubject): boolean {
    const memory = this.#servers.get(keyOf(this.#identify(subject)));
    const accepted = memory?.accepted.get(subject.definition.name);
    if (!memory || !accepted) return false;
    if (accepted.hash !== subject.definitionHash) return accepted.isPinned;
    if (accepted.isApproved && !accepted.isPinned) {
      memory.accepted.set(subject.definition.name, { ...accepted, isPinned: true });
    }
    return false;
  }

  /** It runs without the person being asked (a rule, a mode): from now on a change of its definition is noticed. */
  pin(subject: ApprovalSubject): void {
    if (subject.origin === "builtin") return; // changes with Tenon itself only
    const memory = this.#memoryOf(this.#identify(subject));
    const known = memory.accepted.get(subject.definition.name);
    const isApproved = known?.hash === subject.definitionHash && known.isApproved;
    memory.accepted.set(subject.definition.name, acceptedOf(subject, { isApproved, isPinned: true }));
  }

  /**
   * Remembers an answer; `siblings` are all tools the server has now, for `always_server`. Never rejects: what cannot be
   * kept counts for the session.
   */
  async record(
    subject: ApprovalSubject,
    answer: ApprovalAnswer,
    siblings: readonly ApprovalSubject[] = [],
  ): Promise<void> {
    const server = this.#identify(subject);
    const memory = this.#memoryOf(server);
    const { name } = subject.definition;
    switch (answer) {
      case "no":
        return;
      case "never":
        memory.refused.set(name, undefined);
        return await this.#keep(server, "never", "tool", [{ name, hash: subject.definitionHash }]);
      case "once": {
        // What was approved stays so, and what changed stays held: the next one is compared with what was let through last.
        const known = memory.accepted.get(name);
        if (known?.isApproved || known?.isPinned) return;
        memory.accepted.set(name, acceptedOf(subject, { isApproved: false, isPinned: false }));
        return;
      }
      case "session":
        memory.accepted.set(name, acceptedOf(subject, { isApproved: true, isPinned: true }));
        return;
      case "always":
        memory.accepted.set(name, acceptedOf(subject, { isApproved: true, isPinned: true }));
        return await this.#keep(server, "always", "tool", [keptOf(subject)]);
      case "always_server":
        return await this.#acceptServer(server, memory, [subject, ...siblings]);
    }
  }

  async #acceptServer(server: ServerIdentity, memory: ServerMemory, all: readonly ApprovalSubject[]): Promise<void> {
    const covered = new Map<string, ApprovalSubject>();
    for (const one of all) {
      const isOfServer = keyOf(this.#identify(one)) === keyOf(server);
      const { name } = one.definition;
      if (isOfServer && !memory.refused.has(name) && !covered.has(name)) covered.set(name, one);
    }
    for (const [name, one] of covered) {
      memory.accepted.set(name, acceptedOf(one, { isApproved: true, isPinned: true }));
    }
    await this.#keep(server, "always", "server", [...covered.values()].map(keptOf));
  }

  async #keep(
    server: ServerIdentity,
    decision: "always" | "never",
    scope: "tool" | "server",
    tools: readonly KeptTool[],
  ): Promise<void> {
    const { store, log } = this.#options;
    if (!store || !isLasting(server)) return;
    try {
      await store.keep(server, { decision, scope, tools });
    } catch (error) {
      log.warn("approval.not_kept", { server: server.name, decision, error: messageOf(error) });
    }
  }

  async #read(server: ServerIdentity, memory: ServerMemory): Promise<void> {
    const { store, log } = this.#options;
    if (!store || !isLasting(server)) return;
    try {
      for (const { decision, tools, decidedAt } of await store.load(server)) {
        for (const { name, hash, definition } of tools) {
          if (decision === "never") memory.refused.set(name, decidedAt);
          else {
            const known = memory.accepted.get(name);
            const isNewer = known === undefined || (!known.isPinned && known.decidedAt < decidedAt);
            if (isNewer) memory.accepted.set(name, { hash, definition, isApproved: true, isPinned: false, decidedAt });
          }
        }
      }
    } catch (error) {
      log.warn("approval.not_read", { server: server.name, error: messageOf(error) });
    }
  }

  #memoryOf(server: ServerIdentity): ServerMemory {
    const key = keyOf(server);
    const memory = this.#servers.get(key) ?? { accepted: new Map(), refused: new Map(), loaded: undefined };
    this.#servers.set(key, memory);
    return memory;
  }

  #identify(subject: ApprovalSubject): ServerIdentity {
    return this.#options.identify?.(subject) ?? { origin: subject.origin, name: subject.source };
  }
}

/** What has no launch has only its name, and a name is nobody: an embedder's sources are remembered for the session. */
function isLasting({ origin, fingerprint }: ServerIdentity): boolean {
  return origin === "builtin" || fingerprint !== undefined;
}

function keyOf({ origin, name, fingerprint = "", project = "" }: ServerIdentity): string {
  return `${origin}\0${fingerprint}\0${name}\0${project}`;
}

function acceptedOf(
  subject: ApprovalSubject,
  { isApproved, isPinned }: { readonly isApproved: boolean; readonly isPinned: boolean },
): Accepted {
  const definition = definitionData(subject.definition);
  return { hash: subject.definitionHash, definition, isApproved, isPinned, decidedAt: "" };
}

function keptOf({ definition, definitionHash }: ApprovalSubject): KeptTool {
  return { name: definition.name, hash: definitionHash, definition: definitionData(definition) };
}
