// Reads an `--mcp-config` file: the `mcpServers` map that most MCP clients share. A bad entry costs nobody but itself.
import { TenonError } from "../base/errors.js";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../base/json.js";
import type { ServerSpec } from "../mcp/index.js";

interface McpConfig {
  readonly servers: readonly ServerSpec[];
  /** One sentence each: file, entry, and what was expected there. */
  readonly problems: readonly string[];
}

/** Names that clients use for the transports; `websocket` is what some documents call Streamable HTTP. */
const KINDS: ReadonlyMap<string, ServerSpec["kind"]> = new Map([
  ["stdio", "stdio"],
  ["http", "http"],
  ["streamable-http", "http"],
  ["streamableHttp", "http"],
  ["streamable_http", "http"],
  ["websocket", "http"],
  ["sse", "sse"],
]);

export function parseMcpConfig(text: string, fileName: string): McpConfig {
  const parsed = parseJson(text.replace(/^\ufeff/u, ""));
  if (!parsed.ok) return { servers: [], problems: [`${fileName}: this is not JSON: ${parsed.reason}`] };
  const entries = isJsonObject(parsed.value) ? parsed.value["mcpServers"] : undefined;
  if (!isJsonObject(entries)) {
    const problem = `${fileName}: expected {"mcpServers": {name: entry}}, got ${found(parsed.value, entries)}`;
    return { servers: [], problems: [problem] };
  }
  const servers: ServerSpec[] = [];
  const problems: string[] = [];
  for (const [name, entry] of Object.entries(entries)) {
    try {
      servers.push(parseEntry(name, entry));
    } catch (error) {
      if (!(error instanceof TenonError) || error.code !== "config.invalid") throw error;
      problems.push(`${fileName}: server "${name}": ${error.message}`);
    }
  }
  return { servers, problems };
}

function found(value: JsonValue, entries: JsonValue | undefined): string {
  if (!isJsonObject(value)) return kindOf(value);
  return entries === undefined ? "no mcpServers" : `${kindOf(entries)} as mcpServers`;
}

function parseEntry(name: string, entry: JsonValue | undefined): ServerSpec {
  if (name.trim() === "") throw invalid("the name must not be empty");
  if (!isJsonObject(entry)) throw invalid(`expected an object, got ${kindOf(entry)}`);
  const kind = kindOfServer(entry);
  switch (kind) {
    case "stdio":
      return {
        kind,
        name,
        command: requiredText(entry, "command"),
        args: textList(entry, "args"),
        env: textMap(entry, "env"),
        ...(entry["cwd"] === undefined ? {} : { cwd: requiredText(entry, "cwd") }),
      };
    case "http":
    case "sse":
      return { kind, name, url: webAddress(entry), headers: textMap(entry, "headers") };
  }
}

function kindOfServer(entry: JsonObject): ServerSpec["kind"] {
  const type = entry["type"] ?? entry["transport"];
  const hasCommand = entry["command"] !== undefined;
  const hasUrl = entry["url"] !== undefined;
  if (hasCommand && hasUrl) throw invalid("expected either a command or a url, got both");
  if (type === undefined) {
    if (!hasCommand && !hasUrl) throw invalid("expected a command, or a type and a url");
    return hasCommand ? "stdio" : "http";
  }
  const kind = typeof type === "string" ? KINDS.get(type) : undefined;
  if (!kind) throw invalid(`type must be "stdio", "http" or "sse", got ${JSON.stringify(type)}`);
  return kind;
}

function requiredText(entry: JsonObject, key: string): string {
  const value = entry[key];
  if (typeof value !== "string" || value.trim() === "") {
    throw invalid(`${key} must be a text that is not empty, got ${kindOf(value)}`);
  }
  return value;
}

function textList(entry: JsonObject, key: string): readonly string[] {
  const value = entry[key] ?? [];
  if (!Array.isArray(value)) throw invalid(`${key} must be a list of texts, got ${kindOf(value)}`);
  return value.map((item: JsonValue, at) => {
    if (typeof item !== "string") throw invalid(`${key}[${at}] must be a text, got ${kindOf(item)}`);
    return item;
  });
}

function textMap(entry: JsonObject, key: string): Readonly<Record<string, string>> {
  const value = entry[key] ?? {};
  if (!isJsonObject(value)) throw invalid(`${key} must be an object of texts, got ${kindOf(value)}`);
  const pairs = Object.entries(value).map(([name, item]): [string, string] => {
    if (typeof item !== "string") throw invalid(`${key}.${name} must be a text, got ${kindOf(item)}`);
    return [name, item];
  });
  return Object.fromEntries(pairs);
}

/** Only the form is checked here; which addresses may be reached is the mcp room's decision. */
function webAddress(entry: JsonObject): string {
  const url = requiredText(entry, "url");
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol !== "http:" && protocol !== "https:") {
    throw invalid(`url must be a full http:// or https:// address, got ${JSON.stringify(url)}`);
  }
  return url;
}

/** What is wrong with one entry, said without its name. */
function invalid(problem: string): TenonError {
  return new TenonError("config.invalid", problem);
}

function kindOf(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return value.trim() === "" ? "an empty text" : "a text";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
