// `tenon gateway pair` and `tenon inspect`: links that let a browser in, for another device and for this machine.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { renderUnicodeCompact } from "uqr";
import { messageOf, TenonError } from "../../../base/errors.js";
import { defined } from "../../../base/json/defined.js";
import type { JsonObject } from "../../../base/json/json.js";
import type { World } from "../../../base/ports/world.js";
import { tenonPaths } from "../../../config/index.js";
import { type PageAnswer, SCOPES } from "../../../gateway/index.js";
import { Translator } from "../../../translator/index.js";
import { nodeWorld } from "../../../world/index.js";
import { misused, type Run, refused, type Values } from "../../command.js";
import { type CommandContext, print, report } from "../../context.js";
import { chooseLog } from "../../log.js";
import { visible } from "../../terminal/text.js";
import { notice, wayToGateway } from "../acp/gateway.js";
import { allSessions, sessionNamed } from "../sessions/sessions.js";
import { lastUsed } from "./attach.js";
import { askGateway, socketOf } from "./control.js";
import { readScopes } from "./token.js";

export const runPair: Run<Values<"json", "name" | "socket", "scopes">> = async ({ values }, context) => {
  const { name, scopes, json } = values;
  const given = scopes && readScopes(scopes);
  const page = await pageLink(context, values.socket, { from: "elsewhere", ...defined({ name, scopes: given }) });
  if (!page) {
    const hint =
      "Start one that other machines reach: tenon gateway run --listen 0.0.0.0:4711 --tls-cert … --tls-key …";
    throw refused("no gateway of yours runs on this machine", hint);
  }
  const { palette } = context;
  report(context, json, { ...page }, [
    ...qrLines(page.url, context),
    visible(page.url),
    palette.dim("Good once, for 5 minutes. What it let in is listed and revoked by tenon gateway token."),
    ...(page.isNear ? [NEAR_ONLY] : []),
  ]);
};

const NEAR_ONLY =
  "! Only browsers of this machine reach this address. For a phone start the gateway with --listen, TLS files and an address of the network.";

/** White on black whatever the colours of the terminal are: not every camera reads it the other way round. */
function qrLines(url: string, { palette }: CommandContext): readonly string[] {
  const isColored = palette.bold("x") !== "x";
  const lines = renderUnicodeCompact(url, { ecc: "L", border: 2 }).split("\n");
  return lines.map((line) => (isColored ? `\u001b[97;40m${line}\u001b[0m` : line));
}

export const runInspect: Run<Values<"last" | "no-open" | "json">> = async ({ values, words: [name] }, context) => {
  const { last = false } = values;
  if (last && name !== undefined) throw misused("say one session, or --last");
  const sessions = name === undefined && !last ? [] : await allSessions(context);
  const session =
    name === undefined ? (last ? lastUsed(sessions, context.cwd) : undefined) : sessionNamed(name, sessions);
  await ensureGateway();
  // The person at this machine may do everything in a terminal too.
  const request = { from: "here", name: "tenon inspect", scopes: [...SCOPES], ...defined({ sessionId: session?.id }) };
  const page = await pageLink(context, undefined, request);
  if (!page) throw new TenonError("gateway.unreachable", "the local gateway ended before it could be asked");
  report(context, values.json, { ...page, ...defined({ sessionId: session?.id }) }, [visible(page.url)]);
  const isOpened = values["no-open"] !== true && values.json !== true && (await openBrowser(page.url, context.world));
  if (isOpened) print(context, [context.palette.dim("Opened in your browser. The link is good once, for 5 minutes.")]);
};

/** Undefined: no gateway runs. */
async function pageLink(
  context: CommandContext,
  socket: string | undefined,
  request: JsonObject,
): Promise<PageAnswer | undefined> {
  const answer = await askGateway(socketOf(context, socket), "_tenon/gateway/page", request);
  if (!answer) return undefined;
  const { url, expiresAt, isNear } = answer;
  if (typeof url === "string" && typeof expiresAt === "number" && typeof isNear === "boolean")
    return { url, expiresAt, isNear };
  throw new TenonError("gateway.unreachable", "the gateway that runs is of another version and has no page", {
    hint: "End it, and the next command starts this one: tenon gateway stop",
  });
}

/** Connects as `tenon attach` does: a gateway is started where none runs, and an older idle one is replaced. */
async function ensureGateway(): Promise<void> {
  const world = nodeWorld({ log: chooseLog("error") });
  const way = wayToGateway(world, {});
  if (typeof way === "string") throw new TenonError("gateway.unreachable", `there can be no gateway here: ${way}`);
  const initialize = { protocolVersion: 1, clientInfo: { name: "tenon inspect", version: "1" } };
  const translator = new Translator({ ...way, world, initialize, send: () => undefined, notice });
  try {
    await translator.connect();
  } catch (error) {
    throw new TenonError("gateway.unreachable", `the local gateway cannot be used: ${messageOf(error)}`, {
      hint: "tenon gateway logs says more.",
    });
  } finally {
    await translator.close();
  }
}

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ["xdg-open"],
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/**
 * The code must not be an argument of a program, which other users of the machine can see: the browser is given a file of this
 * user that leads on to the page. Never fails: the link is printed anyway.
 */
async function openBrowser(url: string, world: World): Promise<boolean> {
  const { env, platform } = world;
  const [command, ...args] = OPENERS[platform] ?? [];
  // Without a desktop a browser of the terminal would take its place.
  const hasDesktop = platform !== "linux" || Boolean(env["DISPLAY"]) || Boolean(env["WAYLAND_DISPLAY"]);
  if (command === undefined || !hasDesktop) return false;
  try {
    const file = join(tenonPaths(env).stateDir, "gateway", "open-page.html");
    const target = url.replaceAll("&", "&amp;");
    const html = `<!doctype html><meta charset="utf-8"><title>Tenon</title><meta http-equiv="refresh" content="0;url=${target}">`;
    await world.files.writeAtomic(file, `${html}\n`);
    const child = spawn(command, [...args, pathToFileURL(file).href], { detached: true, stdio: "ignore" });
    return await new Promise((resolve) => {
      child.on("error", () => resolve(false));
      child.once("spawn", () => {
        child.unref();
        resolve(true);
      });
    });
  } catch {
    return false;
  }
}
