// The toolkits as contestants, each by its documented way to call a tool. Copied beside their packages, to find them there.

/** @param {string} name @param {import("../lib/mcp-target.js").Target} target */
export async function open(name, target) {
  const opener = OPENERS[name];
  if (!opener) throw new Error(`there is no toolkit called ${name}`);
  return await opener(target);
}

/** Loads the toolkit; what it returns connects to all servers at once until their tools are listed, by its documented way. */
export async function loadMany(name) {
  const load = MANY[name];
  if (!load) throw new Error(`${name} is not measured with several servers`);
  return await load();
}

const MANY = {
  "ai-sdk": async () => {
    const { experimental_createMCPClient: createClient } = await import("@ai-sdk/mcp");
    const { Experimental_StdioMCPTransport: Stdio } = await import("@ai-sdk/mcp/mcp-stdio");
    return (targets) => openWithAiSdk(targets, { createClient, Stdio });
  },

  langchain: async () => {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    return (targets) => openWithLangChain(targets, MultiServerMCPClient);
  },
};

async function openWithAiSdk(targets, { createClient, Stdio }) {
  const clients = [];
  const lists = await Promise.all(
    targets.map(async ({ command, args }) => {
      const client = await createClient({ transport: new Stdio({ command, args, stderr: "ignore" }) });
      clients.push(client);
      return await client.tools();
    }),
  );
  return {
    toolCount: lists.reduce((sum, tools) => sum + Object.keys(tools).length, 0),
    close: () => Promise.all(clients.map((client) => client.close())),
  };
}

async function openWithLangChain(targets, MultiServerMCPClient) {
  const entries = targets.map(({ command, args }, index) => [
    `server-${index}`,
    { transport: "stdio", command, args, stderr: "ignore" },
  ]);
  const client = new MultiServerMCPClient({
    mcpServers: Object.fromEntries(entries),
    prefixToolNameWithServerName: true,
  });
  const tools = await client.getTools();
  return { toolCount: tools.length, close: () => client.close() };
}

const INFO = { name: "bench", version: "1.0.0" };
const SERVER = "server";

const OPENERS = {
  "sdk-v2": async (target) => {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    return await overSdk(new Client(INFO), target, { StdioClientTransport, StreamableHTTPClientTransport });
  },

  "sdk-v1": async (target) => {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    return await overSdk(new Client(INFO), target, { StdioClientTransport, StreamableHTTPClientTransport });
  },

  "ai-sdk": async (target) => {
    const { experimental_createMCPClient: createClient } = await import("@ai-sdk/mcp");
    const { Experimental_StdioMCPTransport: Stdio } = await import("@ai-sdk/mcp/mcp-stdio");
    const transport =
      target.kind === "stdio"
        ? new Stdio({ command: target.command, args: target.args, stderr: "ignore" })
        : { type: "http", url: target.url };
    const client = await createClient({ transport });
    const tools = await client.tools();
    return {
      call: async (tool, args) => sizeOf(await tools[tool].execute(args, { toolCallId: "1", messages: [] })),
      close: () => client.close(),
    };
  },

  mcporter: async (target) => {
    const { createRuntime } = await import("mcporter");
    const command =
      target.kind === "stdio"
        ? { kind: "stdio", command: target.command, args: target.args, cwd: process.cwd() }
        : { kind: "http", url: new URL(target.url) };
    const runtime = await createRuntime({ servers: [{ name: SERVER, command }] });
    await runtime.listTools(SERVER);
    return {
      call: async (tool, args) => sizeOf(await runtime.callTool(SERVER, tool, { args })),
      close: () => runtime.close(),
    };
  },

  "mcp-use": async (target) => {
    const { MCPClient } = await import("mcp-use/client");
    const client = new MCPClient({ mcpServers: { [SERVER]: serverEntry(target) } });
    const session = await client.createSession(SERVER);
    return {
      call: async (tool, args) => sizeOf(await session.callTool(tool, args)),
      close: () => client.closeAllSessions(),
    };
  },

  mastra: async (target) => {
    const { MCPClient } = await import("@mastra/mcp");
    const entry = target.kind === "stdio" ? serverEntry(target) : { url: new URL(target.url) };
    const client = new MCPClient({ servers: { [SERVER]: entry } });
    const tools = await client.getTools();
    return {
      call: async (tool, args) => sizeOf(await tools[`${SERVER}_${tool}`].execute({ context: args })),
      close: () => client.disconnect(),
    };
  },

  langchain: async (target) => {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const transport = target.kind === "stdio" ? "stdio" : "http";
    const client = new MultiServerMCPClient({ mcpServers: { [SERVER]: { transport, ...serverEntry(target) } } });
    const tools = new Map((await client.getTools()).map((tool) => [tool.name, tool]));
    return {
      call: async (tool, args) => sizeOf(await tools.get(tool).invoke(args)),
      close: () => client.close(),
    };
  },

  "openai-agents": async (target) => {
    const { MCPServerStdio, MCPServerStreamableHttp } = await import("@openai/agents");
    const server =
      target.kind === "stdio"
        ? new MCPServerStdio({ command: target.command, args: target.args, cacheToolsList: true })
        : new MCPServerStreamableHttp({ url: target.url, cacheToolsList: true });
    await server.connect();
    await server.listTools();
    return {
      call: async (tool, args) => sizeOf(await server.callTool(tool, args)),
      close: () => server.close(),
    };
  },
};

async function overSdk(client, target, { StdioClientTransport, StreamableHTTPClientTransport }) {
  const transport =
    target.kind === "stdio"
      ? new StdioClientTransport({ command: target.command, args: target.args, stderr: "ignore" })
      : new StreamableHTTPClientTransport(new URL(target.url));
  await client.connect(transport);
  await client.listTools();
  return {
    call: async (tool, args) => sizeOf(await client.callTool({ name: tool, arguments: args })),
    close: () => client.close(),
  };
}

function serverEntry(target) {
  return target.kind === "stdio" ? { command: target.command, args: target.args } : { url: target.url };
}

/** Every toolkit wraps results in its own way: the longest text in it is the payload, decoded if it is an image. */
function sizeOf(result) {
  const text = longest(result, 0);
  if (text === undefined) throw new Error(`the result has no payload: ${JSON.stringify(result)?.slice(0, 200)}`);
  const isImage = text.length > 100_000;
  const data = isImage ? text.slice(text.indexOf(",") + 1) : text;
  return isImage ? (data.length / 4) * 3 - (data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0) : data.length;
}

function longest(value, depth) {
  if (typeof value === "string") return value;
  if (depth > 6 || typeof value !== "object" || value === null) return undefined;
  let found;
  for (const item of Object.values(value)) {
    const text = longest(item, depth + 1);
    if (text !== undefined && (found === undefined || text.length > found.length)) found = text;
  }
  return found;
}
