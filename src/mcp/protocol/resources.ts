// A server's resources and resource templates: listed and read, whatever shape they come in.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../../base/json/json.js";
import { LIMITS } from "../../base/limits.js";
import type { World } from "../../base/ports/world.js";
import type { ContentBlock } from "../../base/text/content.js";
import { MCP_LIMITS } from "../limits.js";
import { readContents } from "./call.js";
import { type Link, outcomeError } from "./link.js";
import { type Listing, type ListKind, listAll, type ReadEntry, textField } from "./lists.js";

interface Described {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export interface McpResource extends Described {
  readonly uri: string;
  readonly size?: number;
}

export interface McpResourceTemplate extends Described {
  readonly uriTemplate: string;
}

export interface AskOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
}

const RESOURCES: ListKind<McpResource> = {
  method: "resources/list",
  field: "resources",
  capability: "resources",
  noun: "resource",
  read: (raw) =>
    readDescribed(raw, "uri", (uri, described, { size }) => {
      return { uri, ...described, ...defined({ size: typeof size === "number" ? size : undefined }) };
    }),
};

const TEMPLATES: ListKind<McpResourceTemplate> = {
  method: "resources/templates/list",
  field: "resourceTemplates",
  capability: "resources",
  noun: "resource template",
  read: (raw) => readDescribed(raw, "uriTemplate", (uriTemplate, described) => ({ uriTemplate, ...described })),
};

/** Throws a TenonError when the server gave no list. */
export function listResources(link: Link, world: World, signal: AbortSignal): Promise<Listing<McpResource>> {
  return listAll(link, world, RESOURCES, signal);
}

/** Empty for the many servers that declare resources and know no templates. */
export function listResourceTemplates(
  link: Link,
  world: World,
  signal: AbortSignal,
): Promise<Listing<McpResourceTemplate>> {
  return listAll(link, world, TEMPLATES, signal);
}

/** Throws a TenonError when there is nothing to be had. One resource may have several contents. */
export async function readResource(link: Link, uri: string, options: AskOptions): Promise<readonly ContentBlock[]> {
  const { signal, timeoutMs = LIMITS.callTimeoutMs } = options;
  const outcome = await link.request("resources/read", { uri }, { signal, timeoutMs, hint: { name: uri } });
  if (outcome.kind !== "result") throw outcomeError(outcome, `resource ${uri}`);
  return readContents(outcome.result["contents"]);
}

function readDescribed<T>(
  raw: JsonValue | undefined,
  key: string,
  make: (id: string, described: Described, raw: JsonObject) => T,
): ReadEntry<T> {
  if (!isJsonObject(raw)) return { ok: false, name: "?", reason: "the entry is not an object" };
  const id = textField(raw, key);
  const name = textField(raw, "name");
  if (id === undefined || id === "") return { ok: false, name: name ?? "?", reason: `it has no ${key}` };
  if (id.length > MCP_LIMITS.uriMaxChars) return { ok: false, name: name ?? "?", reason: `its ${key} is too long` };
  const title = textField(raw, "title");
  const description = textField(raw, "description");
  const mimeType = textField(raw, "mimeType");
  const described: Described = {
    name: name ?? id,
    ...defined({ title, description, mimeType }),
  };
  return { ok: true, key: id, item: make(id, described, raw) };
}
