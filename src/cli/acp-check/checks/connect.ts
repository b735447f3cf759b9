// Servers of every kind the agent claims are connected, and their tools reach the model.
import type { RunningAgent } from "../agent.js";
import type { Bench } from "../bench.js";
import { type Check, demand } from "../check.js";
import type { TestServer } from "../test-servers.js";
import { openWith, useServer } from "./shared.js";

const IGNORED = "The editor's servers are silently ignored: the person believes they have tools they do not have.";
const HEADER = { name: "x-acp-check", value: "given" };

export const CONNECT: readonly Check[] = [
  {
    id: "connect.stdio",
    title: "a stdio server is connected and its tool is called",
    why: IGNORED,
    run: async (bench) => {
      const server = bench.stdio(
        { recordEnv: ["ACP_CHECK_GIVEN"] },
        { env: [{ name: "ACP_CHECK_GIVEN", value: "given" }] },
      );
      const evidence = await connectAndUse(bench, await bench.start(), server);
      const values = server.starts().map(({ values: given }) => JSON.stringify(given));
      demand(
        values.some((text) => text.includes('"given"')),
        "the server did not get the env of its entry",
      );
      return `${evidence}; its env arrived`;
    },
  },
  remote("http", "a Streamable HTTP server is connected and its tool is called"),
  remote("sse", "an HTTP+SSE server is connected and its tool is called"),
  {
    id: "connect.acp",
    title: "a server of the client itself (type acp) is connected over mcp/message",
    why: IGNORED,
    ruledOut: ({ kinds }) => (kinds.includes("acp") ? undefined : "mcpCapabilities.acp is not claimed"),
    run: async (bench) => {
      const agent = await bench.start();
      return await connectAndUse(bench, agent, bench.overAcp(agent));
    },
  },
];

function remote(type: "http" | "sse", title: string): Check {
  return {
    id: `connect.${type}`,
    title,
    why: IGNORED,
    ruledOut: ({ kinds }) => (kinds.includes(type) ? undefined : `mcpCapabilities.${type} is not claimed`),
    run: async (bench) => {
      const server = await bench.remote(type, [HEADER]);
      const evidence = await connectAndUse(bench, await bench.start(), server);
      const sent = server.requests().map(({ headers }) => headers[HEADER.name]);
      demand(
        sent.every((value) => value === HEADER.value),
        `${sent.filter((value) => value !== HEADER.value).length} of ${sent.length} requests came without the headers of the entry`,
      );
      return `${evidence}; its headers arrived with all ${sent.length} requests`;
    },
  };
}

async function connectAndUse(bench: Bench, agent: RunningAgent, server: TestServer): Promise<string> {
  const { sessionId } = await openWith(agent, [server.entry]);
  return await useServer(bench, agent, sessionId, server);
}
