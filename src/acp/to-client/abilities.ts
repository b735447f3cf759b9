// What a client can show and do, as far as the agent depends on it.
import type { ClientCapabilities } from "@agentclientprotocol/sdk";

export interface ClientAbilities {
  /** The client shows `notice` updates. */
  readonly notices: boolean;
  /** The client shows `compaction_update`s. */
  readonly compaction: boolean;
  readonly readTextFile: boolean;
  readonly writeTextFile: boolean;
  readonly terminal: boolean;
  /** The client shows elicitation forms. */
  readonly forms: boolean;
  /** The client leads people to pages servers want them to open. */
  readonly pages: boolean;
}

export function abilitiesOf({ session, fs, terminal, elicitation }: ClientCapabilities = {}): ClientAbilities {
  return {
    notices: session?.notices != null,
    compaction: session?.compaction != null,
    readTextFile: fs?.readTextFile === true,
    writeTextFile: fs?.writeTextFile === true,
    terminal: terminal === true,
    forms: elicitation?.form != null,
    pages: elicitation?.url != null,
  };
}
