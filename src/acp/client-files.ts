// The client's files over ACP: what its editor has in its buffers, saved or not.

import { type AgentContext, methods } from "@agentclientprotocol/sdk";
import { defined } from "../base/json/defined.js";
import type { SessionPorts } from "../session/index.js";

type ClientFiles = NonNullable<SessionPorts["fs"]>;

export interface FileAbilities {
  readonly readTextFile: boolean;
  readonly writeTextFile: boolean;
}

export function clientFiles(client: AgentContext, sessionId: string, can: FileAbilities): ClientFiles {
  return {
    ...(can.readTextFile
      ? {
          readText: async (path, { line, limit }, signal) => {
            const range = defined({ line, limit });
            const request = { sessionId, path, ...range };
            const options = { cancellationSignal: signal };
            return (await client.request(methods.client.fs.readTextFile, request, options)).content;
          },
        }
      : {}),
    ...(can.writeTextFile
      ? {
          writeText: async (path, content, signal) => {
            const options = { cancellationSignal: signal };
            await client.request(methods.client.fs.writeTextFile, { sessionId, path, content }, options);
          },
        }
      : {}),
  };
}
