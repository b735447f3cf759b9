// Node, the folders Tenon writes to, the sandbox and the keyring of this machine.
import { join } from "node:path";
import { messageOf, toTenonError } from "../../base/errors.js";
import type { World } from "../../base/ports/world.js";
import { VERSION } from "../../base/version.js";
import { commandEnvironment } from "../../builtin/index.js";
import { type EffectiveConfig, tenonPaths } from "../../config/index.js";
import { bubblewrap } from "../../mcp/index.js";
import type { CommandContext } from "../configuration/context.js";
import { systemKeyring } from "../keyring.js";
import { CLI_LIMITS } from "../limits.js";
import { grantsStanding, standingText } from "../login/grants.js";
import { type Finding, odd, ok, wrong } from "./finding.js";

/** As `engines` of the package says. */
const OLDEST_NODE = [20, 19] as const;

export function checkNode(version: string = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [needed, neededMinor] = OLDEST_NODE;
  const isNew = major > needed || (major === needed && minor >= neededMinor);
  const text = `Node ${version}, Tenon ${VERSION}`;
  if (isNew) return ok("node", "Node", text);
  return wrong("node", "Node", `${text}: Node ${OLDEST_NODE.join(".")} or newer is needed`, ["install a newer Node"]);
}

/** Names only. Nothing is said where nothing is withheld. */
export function checkCommandEnvironment(
  { commandVariables = [] }: EffectiveConfig,
  { world }: CommandContext,
): readonly Finding[] {
  const { withheld } = commandEnvironment(world, commandVariables);
  const all = commandEnvironment(world).withheld;
  if (all.length === 0) return [];
  const allowed = all.filter((name) => !withheld.includes(name));
  const words = [
    ...(withheld.length === 0 ? [] : [`not given to commands, as they look like secrets: ${withheld.join(", ")}`]),
    ...(allowed.length === 0 ? [] : [`given all the same (commands.env.allow): ${allowed.join(", ")}`]),
  ];
  return [ok("commands.env", "commands", words.join("; "))];
}

export async function checkFolders({ world }: CommandContext): Promise<readonly Finding[]> {
  const paths = tenonPaths(world.env);
  return [
    await checkFolder(world, () => paths.stateDir, { id: "state", subject: "kept data" }),
    await checkFolder(world, () => paths.cacheDir, { id: "cache", subject: "caches" }),
  ];
}

async function checkFolder(
  world: World,
  find: () => string,
  { id, subject }: Pick<Finding, "id" | "subject">,
): Promise<Finding> {
  let folder: string;
  try {
    folder = find();
  } catch (thrown) {
    const { message, hint } = toTenonError(thrown);
    return wrong(id, subject, message, [hint]);
  }
  const probe = join(folder, `.doctor-${Buffer.from(world.randomBytes(6)).toString("hex")}`);
  try {
    await world.files.writeAtomic(probe, "");
    await world.files.remove(probe);
  } catch (error) {
    const cures = [`make ${folder} writable, or set TENON_HOME to a folder that is`];
    return wrong(id, subject, `${folder} cannot be written to: ${messageOf(error)}`, cures);
  }
  const mode = (await world.files.find(folder))?.mode ?? 0;
  const isOpen = world.platform !== "win32" && (mode & 0o022) !== 0;
  if (isOpen) return odd(id, subject, `${folder} can be changed by others`, [`chmod 700 '${folder}'`]);
  return ok(id, subject, folder);
}

/** Wrong only where something here asks for it. */
export async function checkSandbox(config: EffectiveConfig, { world }: CommandContext): Promise<Finding> {
  const isWanted = config.servers.some(
    (server) => server.status === "ready" && server.spec.kind === "stdio" && server.settings.sandbox.mode !== "off",
  );
  try {
    const { path } = await bubblewrap(world);
    return ok("sandbox", "sandbox", `${path} works`);
  } catch (thrown) {
    const { message, hint } = toTenonError(thrown);
    const text = message.replace(/^not started: /u, "");
    if (isWanted) return wrong("sandbox", "sandbox", text, [hint]);
    return { id: "sandbox", subject: "sandbox", state: "unused", text: `${text}; no server here asks for one` };
  }
}

export async function checkKeyring(config: EffectiveConfig, context: CommandContext): Promise<readonly Finding[]> {
  const { world } = context;
  const isWanted = JSON.stringify([config.providers, config.servers.map(({ written }) => written ?? {})]).includes(
    '"keyring:',
  );
  const standing = await grantsStanding(world).catch(() => undefined);
  const logins = standing ? [ok("logins", "log-ins", standingText(standing))] : [];
  using deadline = world.deadline(CLI_LIMITS.keyringMs);
  try {
    await (context.keyring ?? systemKeyring(world)).get("tenon-doctor", deadline.signal);
    return [ok("keyring", "keyring", "the system's keyring answers"), ...logins];
  } catch (error) {
    const { message, hint } = toTenonError(error);
    const text = deadline.expired ? "the keyring did not answer: it may wait to be unlocked" : message;
    if (isWanted) return [wrong("keyring", "keyring", text, [hint]), ...logins];
    const unused = {
      id: "keyring",
      subject: "keyring",
      state: "unused",
      text: `${text}; nothing here needs it`,
    } as const;
    return [unused, ...logins];
  }
}
