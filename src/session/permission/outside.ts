// Content from outside that a session has read: fetched pages, and what servers answered that the user does not vouch for.
import type { JsonObject } from "../../base/json/json.js";
import { markHidden } from "../../base/text/marking.js";
import type { CatalogTool, ToolOrigin } from "../../tools/index.js";

/** One source of such content. */
export type OutsideRead =
  | { readonly kind: "page" }
  /** Without an origin: a resource, whose server is only named. */
  | { readonly kind: "server"; readonly server: string; readonly origin?: ToolOrigin };

/** Undefined for tools that bring nothing from outside. What a command prints is not counted: nobody knows where it is from. */
export function outsideRead({ origin, source, definition }: CatalogTool, given: JsonObject): OutsideRead | undefined {
  if (origin === "extra") return undefined;
  if (origin !== "builtin") return { kind: "server", server: source, origin };
  if (definition.name === "fetch_url") return { kind: "page" };
  if (definition.name !== "tenon_read_resource") return undefined;
  const { server } = given;
  return { kind: "server", server: typeof server === "string" ? server : "" };
}

export class OutsideReads {
  readonly #reads = new Map<string, OutsideRead>();
  readonly #isTrusted: (read: OutsideRead) => boolean;

  /** `isTrusted` is asked when it matters: the configuration may change. */
  constructor(restored: readonly OutsideRead[], isTrusted: (read: OutsideRead) => boolean) {
    this.#isTrusted = isTrusted;
    for (const read of restored) this.add(read);
  }

  note(tool: CatalogTool, given: JsonObject): void {
    const read = outsideRead(tool, given);
    if (read) this.add(read);
  }

  add(read: OutsideRead): void {
    this.#reads.set(JSON.stringify(read), read);
  }

  /** What was read, for people; undefined when nothing of it counts. */
  describe(): string | undefined {
    const read = [...this.#reads.values()].find((one) => one.kind === "page" || !this.#isTrusted(one));
    if (!read) return undefined;
    if (read.kind === "page") return "a web page";
    return read.server === "" ? "resources of servers" : `what the server ${markHidden(read.server)} answered`;
  }
}
