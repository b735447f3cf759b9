// Which server is logged in to or out of: one of the configuration by its name, or one an editor hands over by its address.
import { TenonError } from "../../base/errors.js";
import { grantAccount, grantPerson, loadConfig, type ReadyServer, whyNotReady } from "../../config/index.js";
import type { LoginOptions, RemoteSpec } from "../../mcp/index.js";
import { isLogInable } from "../../session/index.js";
import type { CommandContext } from "../context.js";
import { secretResolver } from "../secrets.js";
import { personalGrants } from "./grants.js";

export interface Subject {
  readonly spec: RemoteSpec;
  readonly options: LoginOptions;
}

/** Throws a TenonError that says why there is nothing to log in to. */
export async function findSubject(
  named: string,
  account: string | undefined,
  context: CommandContext,
): Promise<Subject> {
  const { world, cwd, keyring } = context;
  const config = await loadConfig({ world, cwd, resolveSecret: secretResolver(world, keyring) });
  const store = personalGrants(world, keyring);
  const { allowHosts } = config;
  const found = config.servers.filter(({ name }) => name === named);
  if (found.length === 0 && /^https?:\/\//iu.test(named) && URL.canParse(named)) {
    const spec: RemoteSpec = { kind: "http", name: named, url: new URL(named).href, headers: {} };
    const mine = account ?? grantAccount({ origin: "client" });
    return { spec, options: { world, oauth: { store, account: mine, settings: {} }, allowHosts } };
  }
  const server = found.find((one): one is ReadyServer => one.status === "ready");
  if (!server) throw notUsed(named, found.map((one) => whyNotReady(one))[0]);
  const { spec, settings } = server;
  if (!isLogInable(spec)) throw noLogin(server);
  if (account !== undefined && settings.origin === "project") {
    throw new TenonError(
      "config.invalid",
      `the server ${JSON.stringify(named)} is the project's: it has one log-in, its own`,
      {
        hint: "Leave --account out, or add the server to your own configuration.",
      },
    );
  }
  const owner = { ...settings, account: account ?? settings.account, project: config.project };
  const oauth = { store, account: grantAccount(owner), person: grantPerson(owner), settings: settings.oauth ?? {} };
  return { spec, options: { world, oauth, allowHosts, urlSource: settings.urlSource } };
}

function notUsed(name: string, reason: string | undefined): TenonError {
  if (reason === undefined) {
    return new TenonError("config.invalid", `there is no server ${JSON.stringify(name)}`, {
      hint: "See tenon mcp list. A server your editor hands over is named by its address: tenon mcp login https://…",
    });
  }
  return new TenonError("config.invalid", `the server ${JSON.stringify(name)} is not used: ${reason}`, {
    hint: "See tenon mcp list.",
  });
}

function noLogin({ name, spec }: ReadyServer): TenonError {
  const isRemote = spec.kind === "http" || spec.kind === "sse";
  const why = isRemote ? "is given its token by its entry" : "runs on this machine";
  return new TenonError("config.invalid", `the server ${JSON.stringify(name)} ${why}: it has no log-in`, {
    hint: isRemote ? `Remove its auth or Authorization header first: tenon mcp get ${name}` : "Use it as it is.",
  });
}
