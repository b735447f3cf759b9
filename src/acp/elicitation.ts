// What an MCP server wants to know of the person, as ACP elicitations: who asks is said, and addresses are shown in full.
import type * as acp from "@agentclientprotocol/sdk";
import { methods } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import { isJsonObject, type JsonObject, type JsonValue } from "../base/json/json.js";
import { LIMITS } from "../base/limits.js";
import { markForeign } from "../base/text/marking.js";
import type { ElicitAnswer } from "../mcp/index.js";
import type { ElicitQuestion, SessionPorts } from "../session/index.js";
import type { ClientAbilities } from "./capabilities.js";
import { ACP_LIMITS } from "./limits.js";
import { asQuestion } from "./meta.js";

export function elicitationPorts(
  client: acp.AgentContext,
  sessionId: string,
  { forms, pages }: Pick<ClientAbilities, "forms" | "pages">,
): Pick<SessionPorts, "elicit" | "elicitModes" | "elicitationCompleted"> {
  if (!forms && !pages) return {};
  return {
    elicitModes: [...(forms ? (["form"] as const) : []), ...(pages ? (["url"] as const) : [])],
    elicit: async (question, signal, asked) => {
      const request = toElicitation(question, sessionId);
      if (!request) return { action: "decline" };
      const whole = { ...request, ...asQuestion({}, asked) };
      const response: unknown = await client.request(methods.client.elicitation.create, whole, {
        cancellationSignal: signal,
      });
      return readAnswer(response);
    },
    elicitationCompleted: (elicitationId) => {
      // Told for convenience: a client that is gone needs it no more.
      client.notify(methods.client.elicitation.complete, { elicitationId }).catch(() => undefined);
    },
  };
}

/** Undefined for a form that cannot be asked: it needs a field of a kind that forms do not have. */
export function toElicitation(question: ElicitQuestion, sessionId: string): acp.CreateElicitationRequest | undefined {
  const { id, server, toolCallId, request } = question;
  const scope = { sessionId, ...defined({ toolCallId }) };
  const who = `The MCP server "${markForeign(server)}"`;
  const { messageChars, formChars } = ACP_LIMITS.elicitation;
  const isLong = request.message.length > messageChars;
  const words = markForeign(isLong ? `${request.message.slice(0, messageChars)}… (cut)` : request.message);
  if (request.mode === "form") {
    if (JSON.stringify(request.requestedSchema ?? {}).length > formChars) return undefined;
    const requestedSchema = toFormSchema(request.requestedSchema ?? {});
    return requestedSchema && { mode: "form", ...scope, message: `${who} asks: ${words}`, requestedSchema };
  }
  if (request.url === undefined) return undefined;
  // As the address is really read: a name in look-alike letters shows as what it is.
  const url = new URL(request.url).href;
  const message = `${who} asks you to open ${url}\n${words}`;
  return { mode: "url", ...scope, message, elicitationId: id, url };
}

/** Anything but a clear yes is none. */
export function readAnswer(response: unknown): ElicitAnswer {
  const { action, content } = isJsonObject(response) ? response : {};
  if (action !== "accept") return { action: action === "cancel" ? "cancel" : "decline" };
  // What people leave empty is left out: it then takes the default.
  const given = Object.entries(isJsonObject(content) ? content : {}).filter(([, value]) => value != null);
  return { action, content: Object.fromEntries(given) };
}

/** Undefined when it requires a field that cannot be asked for. */
export function toFormSchema(schema: JsonObject): acp.ElicitationSchema | undefined {
  const { properties, required } = schema;
  const needed = textsOf(required) ?? [];
  const fields: [string, acp.ElicitationPropertySchema][] = [];
  for (const [name, property] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const field = isJsonObject(property) && isPlain(name) ? toField(property) : undefined;
    if (field) fields.push([name, field]);
    else if (needed.includes(name)) return undefined;
  }
  const known = new Set(fields.map(([name]) => name));
  return {
    type: "object",
    ...words(schema),
    properties: Object.fromEntries(fields),
    ...defined({ required: required === undefined ? undefined : needed.filter((name) => known.has(name)) }),
  };
}

/** Names and values come back as they were sent, so they cannot be marked: those that would have to be are left out. */
function isPlain(words: string): boolean {
  return words.length <= LIMITS.shownNameMaxChars && markForeign(words) === words;
}

function toField(property: JsonObject): acp.ElicitationPropertySchema | undefined {
  const { type, default: usual } = property;
  const base = words(property);
  switch (type) {
    case "string":
      return { type, ...base, ...stringRules(property) };
    case "number":
      return { type, ...base, ...numbers(property, ["minimum", "maximum", "default"], () => true) };
    case "integer":
      return { type, ...base, ...numbers(property, ["minimum", "maximum", "default"], Number.isInteger) };
    case "boolean":
      return { type, ...base, ...defined({ default: typeof usual === "boolean" ? usual : undefined }) };
    case "array":
      return toChoices(property, base);
    default:
      return undefined;
  }
}

const FORMATS: readonly acp.StringFormat[] = ["email", "uri", "date", "date-time"];

function stringRules(property: JsonObject): acp.StringPropertySchema {
  const { pattern, format } = property;
  const known = FORMATS.find((name) => name === format);
  const usual = property["default"];
  return {
    ...numbers(property, ["minLength", "maxLength"], isCount),
    ...defined({
      pattern: typeof pattern === "string" && isPlain(pattern) ? pattern : undefined,
      format: known || undefined,
      default: typeof usual === "string" && isPlain(usual) ? usual : undefined,
    }),
    ...optionsOf(property),
  };
}

/** Three ways of saying it are in use; `enumNames` is the oldest. */
function optionsOf(property: JsonObject): Pick<acp.StringPropertySchema, "enum" | "oneOf"> {
  const titled = titledOptions(property["oneOf"] ?? property["anyOf"]);
  if (titled) return { oneOf: titled };
  const values = textsOf(property["enum"]);
  if (!values) return {};
  const names = textsOf(property["enumNames"]);
  if (!names) return { enum: values.filter(isPlain) };
  const options = values.map((value, index) => ({ const: value, title: markForeign(names[index] ?? value) }));
  return { oneOf: options.filter((option) => isPlain(option.const)) };
}

function toChoices(property: JsonObject, base: ReturnType<typeof words>): acp.ElicitationPropertySchema | undefined {
  const items = isJsonObject(property["items"]) ? property["items"] : {};
  const titled = titledOptions(items["anyOf"] ?? items["oneOf"]);
  const values = textsOf(items["enum"])?.filter(isPlain);
  if (!titled && !values) return undefined;
  const usual = textsOf(property["default"])?.filter(isPlain);
  return {
    type: "array",
    ...base,
    ...numbers(property, ["minItems", "maxItems"], isCount),
    items: titled ? { anyOf: titled } : { type: "string", enum: values ?? [] },
    ...defined({ default: usual }),
  };
}

function titledOptions(raw: JsonValue | undefined): acp.EnumOption[] | undefined {
  if (!Array.isArray(raw)) return undefined;
  return raw.flatMap((option) => {
    const { const: value, title } = isJsonObject(option) ? option : {};
    if (typeof value !== "string" || !isPlain(value)) return [];
    return { const: value, title: markForeign(typeof title === "string" ? title : value) };
  });
}

function textsOf(raw: JsonValue | undefined): string[] | undefined {
  return Array.isArray(raw) ? raw.filter((value) => typeof value === "string") : undefined;
}

/** Words of a server on a form of ours. */
function words({ title, description }: JsonObject): { title?: string; description?: string } {
  return defined({
    title: typeof title === "string" ? markForeign(title) : undefined,
    description: typeof description === "string" ? markForeign(description) : undefined,
  });
}

function numbers<Name extends string>(
  property: JsonObject,
  names: readonly Name[],
  isFit: (value: number) => boolean,
): Partial<Record<Name, number>> {
  const found: Partial<Record<Name, number>> = {};
  for (const name of names) {
    const value = property[name];
    if (typeof value === "number" && isFit(value)) found[name] = value;
  }
  return found;
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}
