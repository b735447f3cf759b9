// What editors accept as the entry of an agent, cut down from what each publishes.
import { isJsonObject, type JsonValue } from "../../src/base/json/json.js";

export type SchemaEditor = "zed" | "jetbrains" | "vscode";

interface Field {
  readonly type: "string" | "strings" | "texts" | "boolean";
  readonly isRequired?: boolean;
}

interface AgentSchema {
  /** The key under which agents stand by name. */
  readonly key: string;
  /** The field that says which kind of agent it is, with the word for one that is started by a command. */
  readonly tag?: readonly [string, string];
  readonly fields: Readonly<Record<string, Field>>;
  /** Whether other fields are refused. */
  readonly isClosed: boolean;
}

const SCHEMAS: Readonly<Record<SchemaEditor, AgentSchema>> = {
  /**
   * zed-industries/zed, settings content of agents: `agent_servers` maps names to `CustomAgentServerSettings`, an enum
   * tagged by `type`; its variant `custom` has `command` (a path), `args` and `env`, and defaults for the session.
   */
  zed: {
    key: "agent_servers",
    tag: ["type", "custom"],
    fields: {
      command: { type: "string", isRequired: true },
      args: { type: "strings" },
      env: { type: "texts" },
      default_mode: { type: "string" },
      default_model: { type: "string" },
    },
    isClosed: true,
  },
  /** JetBrains AI Assistant documentation, "Agent Client Protocol (ACP)": `~/.jetbrains/acp.json`. */
  jetbrains: {
    key: "agent_servers",
    fields: {
      command: { type: "string", isRequired: true },
      args: { type: "strings" },
      env: { type: "texts" },
      use_idea_mcp: { type: "boolean" },
      use_custom_mcp: { type: "boolean" },
    },
    isClosed: true,
  },
  /** formulahendry/vscode-acp, `contributes.configuration` of its package.json: `acp.agents`. */
  vscode: {
    key: "acp.agents",
    fields: { command: { type: "string", isRequired: true }, args: { type: "strings" }, env: { type: "texts" } },
    isClosed: true,
  },
};

/** What is wrong with the entry "Tenon" in an editor's whole file; undefined when it is accepted. */
export function editorSchemaProblem(editor: SchemaEditor, file: JsonValue | undefined): string | undefined {
  const { key, tag, fields, isClosed } = SCHEMAS[editor];
  const agents = isJsonObject(file) ? file[key] : undefined;
  const agent = isJsonObject(agents) ? agents["Tenon"] : undefined;
  if (!isJsonObject(agent)) return `there is no ${key}.Tenon`;
  if (tag && agent[tag[0]] !== tag[1]) return `${tag[0]} is not ${tag[1]}`;
  for (const [name, { type, isRequired }] of Object.entries(fields)) {
    const value = agent[name];
    if (value === undefined && !isRequired) continue;
    if (value === undefined || !fits(value, type)) return `${name} is not of type ${type}`;
  }
  const known = new Set([...Object.keys(fields), ...(tag ? [tag[0]] : [])]);
  const other = Object.keys(agent).find((name) => !known.has(name));
  return isClosed && other !== undefined ? `${other} is not known` : undefined;
}

function fits(value: JsonValue, type: Field["type"]): boolean {
  const isText = (one: JsonValue | undefined) => typeof one === "string";
  switch (type) {
    case "string":
      return isText(value);
    case "strings":
      return Array.isArray(value) && value.every(isText);
    case "texts":
      return isJsonObject(value) && Object.values(value).every(isText);
    case "boolean":
      return typeof value === "boolean";
  }
}
