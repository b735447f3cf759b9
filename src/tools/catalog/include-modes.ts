// How each tool comes before the model, by everybody's word: the more specific one counts, then the later one.
import type { IncludeMode } from "../tool.js";
import type { KnownTools } from "./known-tools.js";

export interface Inclusion {
  readonly mode: IncludeMode;
  /** Whose word it is: `tool` and `server` from configuration, client or person, or nobody's. */
  readonly by: "tool" | "server" | "default";
}

/** Nobody said anything: all tools, as far as the session's limits allow. */
const DEFAULT: Inclusion = { mode: "always", by: "default" };

export class IncludeModes {
  #default: Inclusion = DEFAULT;
  readonly #byServer = new Map<string, IncludeMode>();
  readonly #byTool = new Map<string, ReadonlyMap<string, IncludeMode>>();

  /** At run time; by the source's own name of the tool. */
  set(source: string, tool: string | undefined, mode: IncludeMode): void {
    if (tool === undefined) this.#byServer.set(source, mode);
    else this.#byTool.set(source, new Map(this.#byTool.get(source)).set(tool, mode));
  }

  /** For servers nobody said anything about; Tenon's own tools are always there. */
  setDefault(mode: IncludeMode): void {
    this.#default = { mode, by: "default" };
  }

  of({ source, settings }: Pick<KnownTools, "source" | "settings">, ownName: string): Inclusion {
    const { include, includeByTool } = settings;
    const forTool =
      this.#byTool.get(source.name)?.get(ownName) ??
      (includeByTool && Object.hasOwn(includeByTool, ownName) ? includeByTool[ownName] : undefined);
    if (forTool) return { mode: forTool, by: "tool" };
    const forServer = this.#byServer.get(source.name) ?? include;
    if (forServer) return { mode: forServer, by: "server" };
    return source.origin === "builtin" ? DEFAULT : this.#default;
  }
}
