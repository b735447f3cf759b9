// A terminal of the client over ACP: the command runs where the person can see it.
import {
  type AgentContext,
  type CreateTerminalRequest,
  methods,
  type TerminalOutputResponse,
  type WaitForTerminalExitRequest,
} from "@agentclientprotocol/sdk";
import { messageOf } from "../base/errors.js";
import type { SessionPorts } from "../session/index.js";

type Terminal = NonNullable<SessionPorts["terminal"]>;
type Running = Awaited<ReturnType<Terminal["run"]>>;
type Exit = Awaited<Running["exited"]>;

export function clientTerminal(client: AgentContext, sessionId: string): Terminal {
  return {
    run: async ({ command, args, env, cwd, maxOutputBytes }, _onOutput, signal) => {
      signal.throwIfAborted();
      const request: CreateTerminalRequest = {
        sessionId,
        command,
        args: [...args],
        env: Object.entries(env).map(([name, value]) => ({ name, value })),
        cwd,
        outputByteLimit: maxOutputBytes,
      };
      const { terminalId } = await client.request(methods.client.terminal.create, request);
      const running = new ClientCommand(client, { sessionId, terminalId });
      if (!signal.aborted) return running;
      await running.end();
      await running.release();
      throw signal.reason;
    },
  };
}

interface Place {
  readonly sessionId: string;
  readonly terminalId: string;
}

class ClientCommand implements Running {
  readonly terminalId: string;
  readonly exited: Promise<Exit>;
  readonly #client: AgentContext;
  readonly #place: Place;
  #isEnded = false;
  #isReleased = false;

  constructor(client: AgentContext, place: Place) {
    this.#client = client;
    this.#place = place;
    this.terminalId = place.terminalId;
    this.exited = this.#wait();
  }

  /** The client gives the whole output each time, and may have dropped its beginning. */
  async output(sinceChar: number): Promise<{ text: string; nextChar: number }> {
    const { output, truncated } = await this.#read();
    const nextChar = output.length;
    if (sinceChar === 0) return { text: truncated ? `[the beginning is not kept]\n${output}` : output, nextChar };
    if (truncated) return { text: `[some output may be missing or repeated here]\n${output}`, nextChar };
    return { text: output.slice(sinceChar), nextChar };
  }

  async end(): Promise<void> {
    if (this.#isEnded || this.#isReleased) return;
    this.#isEnded = true;
    await this.#client.request(methods.client.terminal.kill, this.#place).catch(() => undefined); // gone already: fine
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    await this.#client.request(methods.client.terminal.release, this.#place).catch(() => undefined);
  }

  async #read(): Promise<TerminalOutputResponse> {
    return await this.#client.request(methods.client.terminal.output, this.#place);
  }

  async #wait(): Promise<Exit> {
    try {
      const request: WaitForTerminalExitRequest = { ...this.#place };
      const { exitCode, signal } = await this.#client.request(methods.client.terminal.waitForExit, request);
      return { kind: "exited", code: exitCode ?? null, signal: signal ?? null };
    } catch (error) {
      return { kind: "cut_off", reason: `the client's terminal failed: ${messageOf(error)}` };
    }
  }
}
