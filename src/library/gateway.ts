// `tenon/gateway`: a program beside Tenon joins sessions of a gateway and runs tools for them.
import { connectGateway as connect, type GatewayOptions, type GatewayProgram } from "../client/index.js";
import { checkOptions, FLAG, OBJECT, type OptionKind, TEXT } from "./options.js";

export type {
  ClientIdentity,
  GatewayOptions,
  GatewayProgram,
  ListedSession,
  ProgramSession,
  ProgramTool,
  RunContext,
  SessionChoice,
  SetTools,
} from "../client/index.js";

const OPTIONS: Readonly<Record<keyof GatewayOptions, OptionKind>> = {
  name: TEXT,
  url: TEXT,
  token: TEXT,
  isInsecure: FLAG,
  identity: OBJECT,
  world: OBJECT,
};

/**
 * Stays connected until it is closed. Rejects when there is no gateway, or it refuses, and with `usage.invalid` for an option there
 * is not: without its `url` a program would reach the gateway of this machine.
 *
 * @example
 * const gateway = await connectGateway({ name: "warehouse" });
 */
export async function connectGateway(options: GatewayOptions): Promise<GatewayProgram> {
  checkOptions(options, OPTIONS, "connectGateway");
  return await connect(options);
}
