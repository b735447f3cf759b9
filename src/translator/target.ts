// The gateway of `--gateway URL`, or its nodes: which addresses are taken, and where its token comes from.
import { sleep } from "../base/async/deadline.js";
import { messageOf, TenonError } from "../base/errors.js";
import { isLoopbackHost } from "../base/io/net-policy.js";
import { defined } from "../base/json/defined.js";
import { type OpenWebSocket, WebSocketRefusal } from "../base/ports/web-socket.js";
import type { World } from "../base/ports/world.js";
import { isUrl } from "../base/text/url.js";
import type { OpenLink } from "./connection.js";
import { TRANSLATOR_LIMITS } from "./limits.js";

/** The path of ACP at a gateway. */
const ACP_PATH = "/acp";
const TOKEN_VARIABLE = "TENON_GATEWAY_TOKEN";

export interface RemoteTarget {
  /** Of the nodes of one gateway, or the one it has. */
  readonly urls: readonly string[];
  /** The full path of the file of `--token-file`. */
  readonly tokenFile?: string;
  /** Before both; the variable counts where neither is given. */
  readonly token?: string;
}

interface UrlRules {
  readonly isInsecure: boolean;
  readonly option?: string;
}

/** One address, or several of one gateway's nodes with commas between them. Throws `usage.invalid`. */
export function checkGatewayUrls(text: string, rules: UrlRules): readonly string[] {
  const given = text.split(",").map((one) => one.trim());
  const most = TRANSLATOR_LIMITS.addresses;
  if (given.length > most) throw misused(`${rules.option ?? "--gateway"} takes at most ${most} addresses`);
  return [...new Set(given.map((one) => checkGatewayUrl(one, rules)))];
}

/** For people. */
export function shownHosts(urls: readonly string[]): string {
  return `at ${urls.map((url) => new URL(url).host).join(" or ")}`;
}

/** Nothing of the address is repeated where it may hold a secret. */
function checkGatewayUrl(text: string, { isInsecure, option = "--gateway" }: UrlRules): string {
  const url = isUrl(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== "ws:" && url.protocol !== "wss:")) {
    throw misused(`${option} takes an address that begins with ws:// or wss://`);
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw misused(
      `the address of ${option} must not have a user, a query or a fragment`,
      `A token is given by --token-file or ${TOKEN_VARIABLE}: addresses end up in logs.`,
    );
  }
  if (url.protocol === "ws:" && !isInsecure && !isLoopbackHost(url.hostname)) {
    throw misused(
      `ws:// sends the token and the conversation to ${url.host} unencrypted`,
      "Use wss://, a tunnel to this machine, or --insecure where the network itself is safe.",
    );
  }
  if (url.pathname === "/") url.pathname = ACP_PATH;
  return url.href;
}

/**
 * Each connection begins with the address after the last one that was tried: one that takes connections and does not answer is not
 * tried for ever. The token is read for every connection: one that was renewed is used without a restart.
 */
export function remoteLink(
  { urls, tokenFile, token: given }: RemoteTarget,
  {
    world,
    openWebSocket,
  }: { readonly world: Pick<World, "env" | "files" | "after" | "random">; readonly openWebSocket: OpenWebSocket },
): OpenLink {
  let next = 0;
  return async (listener, signal) => {
    // The clients of a node that is gone come to the others, which open its sessions at the same time.
    const spreadMs = next > 0 && urls.length > 1 ? TRANSLATOR_LIMITS.spreadMs : 0;
    if (spreadMs > 0) await sleep(world, spreadMs * world.random(), signal);
    const fromPlace = async () =>
      tokenFile === undefined ? world.env[TOKEN_VARIABLE]?.trim() : await tokenIn(world, tokenFile);
    const token = given ?? (await fromPlace());
    const headers = token ? { authorization: `Bearer ${token}` } : undefined;
    let problem: unknown;
    for (let count = 0; count < urls.length && !signal.aborted; count += 1) {
      const url = urls[next % urls.length] ?? "";
      next += 1;
      try {
        const target = { url, ...LINK_LIMITS, connectMs: LINK_LIMITS.connectMs / Math.min(urls.length, 4) };
        return await openWebSocket({ ...target, ...defined({ headers }) }, listener, signal);
      } catch (error) {
        // That one says no is what a person has to know, also where the others do not answer.
        if (!isDenial(problem)) problem = error;
      }
    }
    throw problem;
  };
}

function isDenial(error: unknown): boolean {
  return error instanceof WebSocketRefusal && (error.status === 401 || error.status === 403);
}

/** Over the unix socket the file's permissions say who may connect. */
export function localLink(socketPath: string, openWebSocket: OpenWebSocket): OpenLink {
  const target = { url: `ws://localhost${ACP_PATH}`, socketPath, ...LINK_LIMITS };
  return async (listener, signal) => await openWebSocket(target, listener, signal);
}

const LINK_LIMITS = {
  maxMessageBytes: TRANSLATOR_LIMITS.messageMaxBytes,
  connectMs: TRANSLATOR_LIMITS.connectMs,
  pingMs: TRANSLATOR_LIMITS.pingMs,
};

async function tokenIn({ files }: Pick<World, "files">, path: string): Promise<string> {
  const found = await files.find(path).catch((error: unknown) => {
    throw unreadable(`the file of --token-file cannot be read: ${messageOf(error)}`);
  });
  if (found?.kind !== "file") throw unreadable(`the file of --token-file is not there: ${path}`);
  if ((found.mode & 0o077) !== 0) {
    throw unreadable(`the file of --token-file can be read by other users: run chmod 600 ${path}`);
  }
  const token = (await files.readText(path)).trim();
  if (!/^[\x21-\x7e]{1,4096}$/u.test(token)) throw unreadable(`the file of --token-file holds no token: ${path}`);
  return token;
}

function unreadable(message: string, hint = "Nothing was sent."): TenonError {
  return new TenonError("config.unreadable", message, { hint });
}

function misused(message: string, hint = ""): TenonError {
  return new TenonError("usage.invalid", message, { hint });
}
