// The variables of the editor's environment that its sessions need in the local gateway, and no others.
import { messageOf } from "../base/message.js";
import type { World } from "../base/ports/world.js";
import { possiblePaths, projectFiles } from "../config/index.js";
import { TRANSLATOR_LIMITS } from "./limits.js";

/** Of programs in general, of proxies and certificates, of toolchains, and of the desktop that log-ins and the keyring use. */
const NAMES: ReadonlySet<string> = new Set(
  [
    "PATH HOME USER LOGNAME SHELL TERM TMPDIR TZ LANG LANGUAGE",
    "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy",
    "NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO",
    "VIRTUAL_ENV CONDA_PREFIX JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME NVM_DIR PYENV_ROOT ANDROID_HOME",
    "DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK DISPLAY WAYLAND_DISPLAY BROWSER",
  ].flatMap((names) => names.split(" ")),
);

/** Locale, Tenon's own, and the keys and addresses of model providers. */
const PREFIXES = ["LC_", "XDG_", "TENON_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_GEMINI_"];

/** For the gateway of another machine; and what names a terminal window or a log-in session differs with each editor. */
const NEVER: ReadonlySet<string> = new Set([
  "TENON_GATEWAY_TOKEN",
  "TENON_GATEWAY_STORE",
  "XDG_SESSION_ID",
  "XDG_ACTIVATION_TOKEN",
]);

/** `${NAME}`, `${env:NAME}`, `${NAME:-default}`, `{env:NAME}`, and names in lists such as those of `commands`. */
const REFERENCE = /\$\{(?:env:)?([A-Za-z_]\w*)(?::-[^}]*)?\}|\{env:([A-Za-z_]\w*)\}|"([A-Za-z_]\w*)"/gu;

/**
 * What a local gateway is started with: variables of the machine and its user, which every translator has. Keys, proxies and the
 * like are each client's own, and NODE_OPTIONS is too: an editor's debugger is not to load code into the sessions of others.
 */
const OF_THE_MACHINE: ReadonlySet<string> = new Set(
  [
    "PATH HOME USER LOGNAME SHELL TMPDIR TZ LANG LANGUAGE __CF_USER_TEXT_ENCODING DBUS_SESSION_BUS_ADDRESS",
    "NODE_EXTRA_CA_CERTS NODE_USE_SYSTEM_CA SSL_CERT_FILE SSL_CERT_DIR",
    "TENON_HOME TENON_KEYRING TENON_LOG TENON_LOG_FILE",
  ].flatMap((names) => names.split(" ")),
);

export function gatewayEnvironment(env: World["env"]): Record<string, string> {
  const isNeeded = (name: string) => OF_THE_MACHINE.has(name) || /^(LC|XDG)_/u.test(name);
  return chosen(env, (name) => isNeeded(name) && !NEVER.has(name));
}

/** `directories`: of the sessions. Never rejects: a file that cannot be read names nothing. */
export async function sessionEnvironment(
  world: Pick<World, "env" | "files" | "log">,
  directories: readonly string[],
): Promise<Record<string, string>> {
  const { configFile } = possiblePaths(world.env);
  const files = directories.flatMap((directory) => {
    const { shared, own } = projectFiles(directory);
    return [shared, own];
  });
  const named = new Set((await Promise.all([configFile, ...files].map((path) => namesIn(world, path)))).flat());
  const isNeeded = (name: string) =>
    !NEVER.has(name) && (NAMES.has(name) || named.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix)));
  return chosen(world.env, isNeeded);
}

function chosen(from: World["env"], isNeeded: (name: string) => boolean): Record<string, string> {
  const env: Record<string, string> = {};
  // Exported shell functions start with "()": they are code, not values.
  for (const [name, value] of Object.entries(from))
    if (value !== undefined && isNeeded(name) && !value.startsWith("()")) env[name] = value;
  return env;
}

async function namesIn({ files, log }: Pick<World, "files" | "log">, path: string | undefined): Promise<string[]> {
  if (path === undefined) return [];
  try {
    const found = await files.find(path);
    if (found?.kind !== "file" || found.bytes > TRANSLATOR_LIMITS.configMaxBytes) return [];
    const text = await files.readText(path);
    return Array.from(text.matchAll(REFERENCE), ([, braced, bare, quoted]) => braced ?? bare ?? quoted ?? "");
  } catch (error) {
    log.debug("translator.configuration_unread", { path, error: messageOf(error) });
    return [];
  }
}
