// What Tenon's own tools ask of the client and the person: whoever is attached when one of them runs.
import type { BuiltinPorts, ClientFiles, PlanEntry, Terminal } from "../../builtin/index.js";
import type { SessionPorts } from "../ports.js";

export interface BuiltinPortsOptions {
  attached(): SessionPorts | undefined;
  onPlan(entries: readonly PlanEntry[]): void;
}

export function builtinPorts(options: BuiltinPortsOptions): BuiltinPorts {
  return {
    get fs(): ClientFiles {
      return options.attached()?.fs ?? {};
    },
    get terminal(): Terminal | undefined {
      return options.attached()?.terminal;
    },
    plan: (entries) => options.onPlan(entries),
    ask: async (question, choices, signal, toolCallId) => {
      const ports = options.attached();
      if (!ports?.askPerson) return { kind: "unavailable", reason: "nobody is attached who could be asked" };
      return await ports.askPerson(question, choices, signal, toolCallId);
    },
  };
}
