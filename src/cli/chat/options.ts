// What the terminal client is given: the agent to talk to, the streams of the person, and how it shall behave.
import type { AgentApp, Stream } from "@agentclientprotocol/sdk";
import type { Clock } from "../terminal/clock.js";

export interface ChatOptions {
  /** The agent itself, or what leads to it. */
  readonly agent: AgentApp | Stream;
  /** Absolute. */
  readonly cwd: string;
  /** Servers that may take long to start: a prompt that nobody repeats waits for them. */
  readonly slowServers?: readonly string[];
  /** Answer this once and end, instead of reading prompts from the input. */
  readonly prompt?: string;
  /** Print the protocol's updates as NDJSON instead of text for people. */
  readonly json: boolean;
  /** Approve every tool call. What a project's files bring is never approved by this. */
  readonly yes: boolean;
  /** A person sits at the input and can be asked. */
  readonly interactive: boolean;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly errorOutput: NodeJS.WritableStream;
  readonly color: boolean;
  /** Calls the listener at each Ctrl-C or SIGINT; returns the way to stop. */
  readonly onInterrupt: (listener: () => void) => () => void;
  readonly clock?: Clock;
}
