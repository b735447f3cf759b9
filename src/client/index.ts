// Published in `tenon/gateway`: a program gives sessions of a gateway tools of its own.
import { TenonError } from "../base/errors.js";
import { defined } from "../base/json/defined.js";
import type { World } from "../base/ports/world.js";
import { tenonPaths } from "../config/index.js";
import { gatewaySocketPath } from "../gateway/index.js";
import { checkGatewayUrls, localLink, remoteLink, shownHosts } from "../translator/index.js";
import { nodeWorld, openWebSocket } from "../world/index.js";
import { type ClientIdentity, GatewayProgram } from "./program.js";

export type {
  ClientIdentity,
  GatewayProgram,
  ListedSession,
  ProgramSession,
  ProgramTool,
  RunContext,
  SessionChoice,
  SetTools,
} from "./program.js";

/**
 * Options of `connectGateway`.
 *
 * @example
 * const options: GatewayOptions = { name: "warehouse", url: "wss://gateway.example", token };
 */
export interface GatewayOptions {
  /** For people: who asks to run something. */
  readonly name: string;
  /** `wss://…` of a gateway, or of several of its nodes with commas between them; the one of this user on this machine unless given. */
  readonly url?: string;
  /** For the gateway at `url`; `TENON_GATEWAY_TOKEN` unless given. It needs the scope `tools`, and `prompt` to begin sessions. */
  readonly token?: string;
  /** Allows `ws://` to another machine: the token and the conversation go unencrypted. */
  readonly isInsecure?: boolean;
  /** Of an earlier connection: then this is the same client again. */
  readonly identity?: ClientIdentity;
  /** Time, files and the like; the real ones unless given. */
  readonly world?: World;
}

/** Stays connected until it is closed. Rejects when there is no gateway, or it refuses. */
export async function connectGateway(options: GatewayOptions): Promise<GatewayProgram> {
  const { name, url, token, isInsecure = false, identity } = options;
  const world = options.world ?? nodeWorld({ log: QUIET });
  if (url === undefined && world.platform === "win32") {
    throw new TenonError("usage.invalid", "Windows has no local gateway yet", { hint: "Give the url of one." });
  }
  const urls = url === undefined ? undefined : checkGatewayUrls(url, { isInsecure, option: "url" });
  const open =
    urls === undefined
      ? localLink(gatewaySocketPath(world, tenonPaths(world.env).stateDir), openWebSocket)
      : remoteLink({ urls, ...defined({ token }) }, { world, openWebSocket });
  const gatewayName = urls === undefined ? "of this machine" : shownHosts(urls);
  return await GatewayProgram.connect({ world, name, open, gatewayName, ...defined({ identity }) });
}

const QUIET: World["log"] = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
