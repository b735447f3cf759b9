// Resources of MCP servers as a tool: listed and read by the model, once a connected server has any.
import { Cell } from "../../base/async/cell.js";
import { messageOf } from "../../base/errors.js";
import { isJsonObject } from "../../base/json/json.js";
import type { World } from "../../base/ports/world.js";
import { text } from "../../base/text/content.js";
import { listResources, listResourceTemplates, type McpConnection, readResource } from "../../mcp/index.js";
import { TOOL_LIMITS } from "../limits.js";
import { cut, plain } from "../one-line.js";
import {
  failed,
  type SourceCall,
  type ToolDefinition,
  type ToolOrigin,
  type ToolOutcome,
  type ToolSource,
} from "../tool.js";

const READ_RESOURCE = "tenon_read_resource";

const LINE_CHARS = 300;

const definition: ToolDefinition = {
  name: READ_RESOURCE,
  title: "Read a resource",
  description:
    "Reads a resource of a connected MCP server by its URI. Without a uri it lists the resources and resource templates of the server; without a server, those of every server that has any.",
  inputSchema: {
    type: "object",
    properties: {
      server: { type: "string", description: "The name of the server." },
      uri: { type: "string", description: "The resource's URI. A template has to be filled in first." },
    },
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
};

/** What is needed of a connection. */
export type ResourceServer = Pick<McpConnection, "spec" | "state" | "link">;

/** The connections of a session as they come and go. The tool is listed once one of them has resources, and stays. */
export class ResourceSource implements ToolSource {
  readonly name = "tenon";
  readonly origin: ToolOrigin = "builtin";
  readonly #world: World;
  readonly tools: Cell<readonly ToolDefinition[]> = new Cell<readonly ToolDefinition[]>([]);
  #connections: readonly ResourceServer[] = [];
  #stops: readonly (() => void)[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  setConnections(connections: readonly ResourceServer[]): void {
    for (const stop of this.#stops) stop();
    this.#connections = connections;
    this.#stops = connections.map((connection) => connection.state.subscribe(() => this.#look()));
    this.#look();
  }

  async call({ arguments: { server, uri }, signal }: SourceCall): Promise<ToolOutcome> {
    const having = this.#connections.filter(hasResources);
    const asked =
      typeof server === "string" && server !== "" ? having.filter(({ spec }) => spec.name === server) : having;
    if (asked.length === 0) return failed(this.#noServer(server, having));
    try {
      if (typeof uri !== "string" || uri === "") {
        const lists = await Promise.all(asked.map((one) => this.#listOne(one, signal)));
        return { kind: "done", content: [text(lists.join("\n\n"))] };
      }
      const [connection] = asked;
      if (!connection?.link || asked.length > 1) {
        return failed(`Say which server to read from: ${asked.map(({ spec }) => spec.name).join(", ")}.`);
      }
      return { kind: "done", content: await readResource(connection.link, uri, { signal }) };
    } catch (error) {
      if (signal.aborted) return { kind: "cancelled" };
      return failed(messageOf(error));
    }
  }

  #look(): void {
    if (this.tools.value.length === 0 && this.#connections.some(hasResources)) this.tools.set([definition]);
  }

  #noServer(server: unknown, having: readonly ResourceServer[]): string {
    const names = having.map(({ spec }) => spec.name).join(", ") || "none at the moment";
    const isKnown = this.#connections.some(({ spec }) => spec.name === server);
    const problem = `The server "${String(server)}" has no resources, or is not ready.`;
    return `${isKnown ? problem : "There is no such server."} Servers with resources: ${names}.`;
  }

  /** One server that fails costs only its own part. */
  async #listOne({ spec, link }: ResourceServer, signal: AbortSignal): Promise<string> {
    if (!link) return `${spec.name}: not ready`;
    try {
      const [resources, templates] = await Promise.all([
        listResources(link, this.#world, signal),
        listResourceTemplates(link, this.#world, signal),
      ]);
      const lines = [
        ...resources.items.map((item) => resourceLine(item.uri, item)),
        ...templates.items.map((item) => `${resourceLine(item.uriTemplate, item)} (template)`),
      ];
      const more = lines.length - TOOL_LIMITS.resourcesShown;
      const shown = [...lines.slice(0, TOOL_LIMITS.resourcesShown), ...(more > 0 ? [`and ${more} more`] : [])];
      return [`${spec.name}: ${lines.length} resources`, ...shown].join("\n");
    } catch (error) {
      signal.throwIfAborted();
      return `${spec.name}: the resources could not be listed: ${messageOf(error)}`;
    }
  }
}

function hasResources({ link }: ResourceServer): boolean {
  return link !== undefined && isJsonObject(link.capabilities["resources"]);
}

function resourceLine(
  uri: string,
  {
    name,
    title,
    description,
    mimeType,
  }: { readonly name: string } & Partial<Record<"title" | "description" | "mimeType", string>>,
): string {
  const kind = mimeType === undefined ? "" : ` [${plain(mimeType)}]`;
  const said = [title ?? name, description ?? ""].filter((part) => part !== "" && part !== uri).join(": ");
  return `- ${plain(uri)}${kind} ${cut(plain(said), LINE_CHARS)}`.trimEnd();
}
