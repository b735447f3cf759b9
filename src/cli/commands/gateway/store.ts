// Where a gateway keeps what outlives it: in files, or in the database that `--store` or TENON_GATEWAY_STORE names.
import { hostname } from "node:os";
import type { World } from "../../../base/ports/world.js";
import type { GatewayStore, Tokens } from "../../../gateway/index.js";
import { misused } from "../../command.js";
import { type CommandContext, warn } from "../../context.js";

const VARIABLE = "TENON_GATEWAY_STORE";

/** Undefined: in files. A gateway of this machine alone has files whatever the variable says. */
export function storeAddress(
  { store, isLocal = false }: { readonly store: string | undefined; readonly isLocal?: boolean },
  context: CommandContext,
): string | undefined {
  const variable = context.world.env[VARIABLE];
  delete process.env[VARIABLE]; // no server and no command of a session gets to see it
  if (isLocal && store !== undefined)
    throw misused("--local and --idle-exit are for a gateway on files: leave --store out");
  const url = store ?? (isLocal || variable === "" ? undefined : variable);
  if (url === undefined) return undefined;
  const given = store === undefined ? VARIABLE : "--store";
  if (!/^postgres(?:ql)?:\/\//u.test(url)) throw misused(`${given} takes the address of a PostgreSQL: postgres://…`);
  if (store !== undefined && hasPassword(url)) {
    warn(
      context,
      `the password in --store is shown to everybody who may list processes: put the address into ${VARIABLE}, or the password into PGPASSWORD or ~/.pgpass`,
    );
  }
  return hasPassword(url) ? url : withPassword(url, context);
}

/** The driver would take it from the environment that sessions expand names from: it goes into the address, and out of there. */
function withPassword(url: string, { world }: CommandContext): string {
  const password = world.env["PGPASSWORD"];
  delete process.env["PGPASSWORD"];
  if (!password) return url;
  return `${url}${url.includes("?") ? "&" : "?"}password=${encodeURIComponent(password)}`;
}

function hasPassword(url: string): boolean {
  return /^[a-z]+:\/\/[^/@]*:[^@]*@/u.test(url) || /[?&]password=./u.test(url);
}

/** As a node among those that share the database. */
export async function openNodeStore(
  world: World,
  url: string,
  node: { readonly name: string; readonly roots: readonly string[] },
): Promise<GatewayStore> {
  const { openPostgresStore } = await import("../../../postgres/index.js");
  return await openPostgresStore({ world, url, node });
}

/** Without being a node. */
export async function openTokens(world: World, url: string): Promise<{ readonly tokens: Tokens } & AsyncDisposable> {
  const { openPostgresTokens } = await import("../../../postgres/index.js");
  return await openPostgresTokens({ world, url });
}

export function nodeName(given: string | undefined): string {
  if (given === undefined) return hostname().slice(0, 64);
  if (/^[\p{L}\p{N}][\p{L}\p{N}._-]{0,63}$/u.test(given)) return given;
  throw misused("--node takes a name of 1 to 64 letters, digits or ._-");
}
