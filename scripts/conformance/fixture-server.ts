// The MCP server behind `tenon mcp serve` in the server scenarios: the tools, resources and prompts that the suite asks for.
// It speaks 2025-11-25 over stdio by itself, so that what comes out at the other end is Tenon's doing and no SDK's.
import { createInterface } from "node:readline";

type Json = Readonly<Record<string, unknown>>;
type Handler = (params: Json, call: Call) => unknown;

interface Call {
  readonly token: unknown;
  readonly notify: (method: string, params: Json) => void;
  /** Rejects with what the client refused it with. */
  readonly ask: (method: string, params: Json) => Promise<Json>;
}

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const NOTHING = { type: "object", properties: {} };
const pending = new Map<unknown, (message: Json) => void>();
let capabilities: Json = {};
let asked = 0;
let extra: "none" | "tool" | "prompt" = "none";

const text = (words: string): Json => ({ type: "text", text: words });
const image = { type: "image", data: PNG, mimeType: "image/png" };
const said = (words: string): Json => ({ content: [text(words)] });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const send = (message: Json) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

function form(message: string, properties: Json, required: readonly string[] = []): Json {
  return { message, requestedSchema: { type: "object", properties, required } };
}

async function elicited(call: Call, params: Json, words: string): Promise<Json> {
  if (capabilities["elicitation"] === undefined) throw new Refused(-32_602, "the client has no elicitation");
  const { action, content } = await call.ask("elicitation/create", params);
  return said(`${words}: action=${String(action)}, content=${JSON.stringify(content ?? {})}`);
}

class Refused extends Error {
  readonly code: number;
  readonly data: Json | undefined;

  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const NAME = form("What is your name?", { name: { type: "string" } }, ["name"]);
const ENUMS = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: {
    type: "string",
    oneOf: ["First", "Second", "Third"].map((word, at) => ({ const: `value${at + 1}`, title: `${word} Option` })),
  },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
  titledMulti: {
    type: "array",
    items: {
      anyOf: ["First", "Second", "Third"].map((word, at) => ({ const: `value${at + 1}`, title: `${word} Choice` })),
    },
  },
};
const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const TOOLS: Readonly<Record<string, Handler>> = {
  test_simple_text: () => said("This is a simple text response for testing."),
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  test_embedded_resource: () => {
    const resource = { uri: "test://embedded-resource", mimeType: "text/plain" };
    return {
      content: [{ type: "resource", resource: { ...resource, text: "This is an embedded resource content." } }],
    };
  },
  test_multiple_content_types: () => {
    const resource = { uri: "test://mixed-content-resource", mimeType: "application/json" };
    const data = { type: "resource", resource: { ...resource, text: '{"test":"data","value":123}' } };
    return { content: [text("Multiple content types test:"), image, data] };
  },
  test_tool_with_logging: async (_, { notify }) => {
    for (const words of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      notify("notifications/message", { level: "info", logger: "fixture", data: words });
      await pause(50);
    }
    return said("It has logged.");
  },
  test_error_handling: () => ({ ...said("This tool intentionally returns an error for testing"), isError: true }),
  test_tool_with_progress: async (_, { token, notify }) => {
    for (const progress of [0, 50, 100]) {
      if (token !== undefined) notify("notifications/progress", { progressToken: token, progress, total: 100 });
      await pause(50);
    }
    return said("It has made progress.");
  },
  test_sampling: async ({ prompt }, call) => {
    if (capabilities["sampling"] === undefined) throw new Refused(-32_602, "the client has no sampling");
    const messages = [{ role: "user", content: text(String(prompt)) }];
    const { content } = await call.ask("sampling/createMessage", { messages, maxTokens: 100 });
    return said(`LLM response: ${JSON.stringify(content)}`);
  },
  test_elicitation: async ({ message }, call) => {
    const field = { type: "string", description: "User's response" };
    const fields = { username: field, email: { type: "string", description: "User's email address" } };
    return await elicited(call, form(String(message), fields, ["username", "email"]), "User response");
  },
  test_elicitation_sep1034_defaults: (_, call) => elicited(call, form("Your data", DEFAULTS), "Elicitation completed"),
  test_elicitation_sep1330_enums: (_, call) => elicited(call, form("Your choice", ENUMS), "Elicitation completed"),
  test_missing_capability: () => {
    if (capabilities["sampling"] !== undefined) return said("The client has sampling.");
    throw new Refused(-32_021, "sampling is needed", { requiredCapabilities: { sampling: {} } });
  },
  test_input_required_result_elicitation: (_, call) => elicited(call, NAME, "Hello"),
  test_input_required_result_sampling: async (_, call) => {
    const messages = [{ role: "user", content: text("What is the capital of France?") }];
    return said(JSON.stringify(await call.ask("sampling/createMessage", { messages, maxTokens: 100 })));
  },
  test_input_required_result_request_state: (_, call) => elicited(call, NAME, "state-ok"),
  test_input_required_result_tampered_state: (_, call) => elicited(call, NAME, "state-ok"),
  test_input_required_result_capabilities: async (_, call) => {
    if (capabilities["elicitation"] !== undefined) return await elicited(call, NAME, "Hello");
    if (capabilities["sampling"] === undefined) return said("The client can be asked nothing.");
    const messages = [{ role: "user", content: text("Say hello") }];
    return said(JSON.stringify(await call.ask("sampling/createMessage", { messages, maxTokens: 10 })));
  },
  test_logging_tool: async (_, { notify }) => {
    notify("notifications/message", { level: "info", logger: "fixture", data: "a line" });
    return said("It has logged.");
  },
  test_streaming_elicitation: (_, call) => elicited(call, NAME, "Hello"),
  test_trigger_tool_change: (_, { notify }) => {
    extra = extra === "tool" ? "none" : "tool";
    notify("notifications/tools/list_changed", {});
    return said("There is another list of tools.");
  },
  test_trigger_prompt_change: (_, { notify }) => {
    extra = extra === "prompt" ? "none" : "prompt";
    notify("notifications/prompts/list_changed", {});
    return said("There is another list of prompts.");
  },
};

const SCHEMAS: Readonly<Record<string, Json>> = {
  test_sampling: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
  test_elicitation: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
};
const STATIC_TEXT = { uri: "test://static-text", mimeType: "text/plain" };
const STATIC_BINARY = { uri: "test://static-binary", mimeType: "image/png" };
const RESOURCES = [
  { ...STATIC_TEXT, name: "Static text", description: "A text" },
  { ...STATIC_BINARY, name: "Static binary", description: "An image" },
  { uri: "test://watched-resource", mimeType: "text/plain", name: "Watched", description: "It may change" },
];
const TEMPLATE = {
  uriTemplate: "test://template/{id}/data",
  name: "Template",
  description: "Data by id",
  mimeType: "application/json",
};
const user = (content: unknown) => ({ role: "user", content });
const PROMPTS: Readonly<Record<string, { readonly args: readonly string[]; readonly get: Handler }>> = {
  test_simple_prompt: { args: [], get: () => [user(text("This is a simple prompt for testing."))] },
  test_prompt_with_arguments: {
    args: ["arg1", "arg2"],
    get: ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`))],
  },
  test_prompt_with_embedded_resource: {
    args: ["resourceUri"],
    get: ({ resourceUri }) => {
      const resource = { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." };
      return [user({ type: "resource", resource }), user(text("Please process the embedded resource above."))];
    },
  },
  test_prompt_with_image: { args: [], get: () => [user(image), user(text("Please analyze the image above."))] },
  test_input_required_result_prompt: {
    args: [],
    get: async (_, call) => {
      const asked = form("What context should the prompt use?", { context: { type: "string" } }, ["context"]);
      return [user(text(JSON.stringify(await call.ask("elicitation/create", asked))))];
    },
  },
};

function readResource(uri: unknown): Json {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(String(uri)) ?? [];
  if (uri === STATIC_TEXT.uri) return { ...STATIC_TEXT, text: "This is the content of the static text resource." };
  if (uri === STATIC_BINARY.uri) return { ...STATIC_BINARY, blob: PNG };
  if (uri === "test://watched-resource") return { uri, mimeType: "text/plain", text: "Watched." };
  if (id === undefined) throw new Refused(-32_002, "Resource not found", { uri });
  const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { uri, mimeType: "application/json", text: data };
}

const object = (value: unknown): Json => (typeof value === "object" && value !== null ? { ...value } : {});

const METHODS: Readonly<Record<string, Handler>> = {
  initialize: (params) => {
    capabilities = object(params["capabilities"]);
    return {
      protocolVersion: "2025-11-25",
      serverInfo: { name: "fixture", version: "1.0.0" },
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        completions: {},
        logging: {},
      },
    };
  },
  ping: () => ({}),
  "logging/setLevel": () => ({}),
  "tools/list": () => {
    const names = [...Object.keys(TOOLS), ...(extra === "tool" ? ["test_extra_tool"] : [])];
    const annotations = { readOnlyHint: true };
    return {
      tools: names.map((name) => ({ name, description: name, inputSchema: SCHEMAS[name] ?? NOTHING, annotations })),
    };
  },
  "tools/call": async ({ name, arguments: given }, call) => {
    const tool = TOOLS[String(name)];
    if (!tool) throw new Refused(-32_602, `Unknown tool: ${String(name)}`);
    return await tool(object(given), call);
  },
  "resources/list": () => ({ resources: RESOURCES }),
  "resources/templates/list": () => ({ resourceTemplates: [TEMPLATE] }),
  "resources/read": ({ uri }) => ({ contents: [readResource(uri)] }),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
  "prompts/list": () => {
    const listed = Object.entries(PROMPTS).map(([name, { args }]) => {
      return {
        name,
        description: name,
        arguments: args.map((one) => ({ name: one, description: one, required: true })),
      };
    });
    return { prompts: [...listed, ...(extra === "prompt" ? [{ name: "test_extra_prompt", description: "" }] : [])] };
  },
  "prompts/get": async ({ name, arguments: given }, call) => {
    const prompt = PROMPTS[String(name)];
    if (!prompt) throw new Refused(-32_602, `Unknown prompt: ${String(name)}`);
    return { messages: await prompt.get(object(given), call) };
  },
  "completion/complete": () => ({ completion: { values: ["paris", "park", "party"], total: 3, hasMore: false } }),
};

async function answer(id: unknown, method: string, params: Json): Promise<void> {
  const token = object(params["_meta"])["progressToken"];
  const ask: Call["ask"] = (asks, about) =>
    new Promise((resolve, reject) => {
      asked += 1;
      const own = `ask-${asked}`;
      pending.set(own, (message) => {
        pending.delete(own);
        if (message["result"] !== undefined) resolve(object(message["result"]));
        else reject(new Refused(-32_603, JSON.stringify(message["error"])));
      });
      send({ id: own, method: asks, params: about });
    });
  const notify: Call["notify"] = (told, about) => send({ method: told, params: about });
  try {
    const handler = METHODS[method];
    if (!handler) throw new Refused(-32_601, `Method not found: ${method}`);
    send({ id, result: await handler(params, { token, notify, ask }) });
  } catch (error) {
    const { code = -32_603, data } = error instanceof Refused ? error : {};
    send({ id, error: { code, message: error instanceof Error ? error.message : String(error), data } });
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message: Json = JSON.parse(line);
  const { id, method, params } = message;
  if (typeof method !== "string") pending.get(id)?.(message);
  else if (id !== undefined) answer(id, method, object(params)).catch((error: unknown) => console.error(error));
});
