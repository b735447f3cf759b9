// A client that traces: what a prompt brings about belongs to the trace its `_meta` names.
import { client, methods } from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { SessionHost } from "../session/index.js";
import { fakeWorld } from "../testing/index.js";
import { nodeWorld } from "../world/index.js";
import { HostAccess } from "./access.js";
import { createAgent } from "./agent.js";

const PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

test("the trace of a prompt is that of its turn, and of no other", async () => {
  const { telemetry } = nodeWorld({ env: {} });
  const world = fakeWorld(telemetry ? { telemetry } : {});
  const seen: unknown[] = [];
  const model = {
    id: "test/model",
    async *stream() {
      seen.push(telemetry?.context);
      yield { kind: "text", text: "hello" } as const;
      yield { kind: "finish", reason: "stop" } as const;
    },
  };
  const host = new SessionHost({ world, model, stateDir: "/state", client: { name: "t", version: "1" } });
  const connection = client({ name: "c" }).connect(createAgent({ access: new HostAccess(host) }));
  const { agent } = connection;
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: "/p", mcpServers: [] });
  await world.advance(1);
  const prompt = [{ type: "text" as const, text: "hi" }];
  for (const _meta of [{ traceparent: PARENT, tracestate: "a=1" }, { traceparent: "nonsense" }, undefined]) {
    await agent.request(methods.agent.session.prompt, { sessionId, prompt, ...(_meta ? { _meta } : {}) });
  }
  expect(seen).toEqual([{ traceparent: PARENT, tracestate: "a=1" }, undefined, undefined]);
  await host.close();
  connection.close();
  await connection.closed;
});
