// The ways to get a test client that is connected to an agent.
import type { AgentApp } from "@agentclientprotocol/sdk";
import { AcpClient, type AcpClientOptions } from "./client.js";
import { type AgentCommand, type AgentStreams, appLink, processLink, streamsLink } from "./link.js";

/** Spawns an agent and connects over its standard streams. Nothing is sent yet: call `initialize()`. */
export function startAgent(command: AgentCommand, options?: AcpClientOptions): AcpClient {
  return new AcpClient(processLink(command), options);
}

/** Connects to an agent app of the SDK in this process. */
export function connectAgent(app: AgentApp, options?: AcpClientOptions): AcpClient {
  return new AcpClient(appLink(app), options);
}

/** Connects to an agent that serves these streams in this process. */
export function connectStreams(streams: AgentStreams, options?: AcpClientOptions): AcpClient {
  return new AcpClient(streamsLink(streams), options);
}
