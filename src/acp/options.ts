// The settings of a session as ACP config options and modes. The front answers with this, so it imports nothing heavy.
import type * as acp from "@agentclientprotocol/sdk";
import type { ServerStatus, SettingsView } from "../session/index.js";
import type { ClientServers } from "./from-client.js";
import { sentMeta } from "./meta.js";

/** What is certain before the configuration has been read; `config_option_update` brings the rest. */
export const EARLY_SETTINGS: SettingsView = {
  mode: "ask",
  modes: ["ask", "plan", "auto-edit"],
  models: [],
  thinking: "default",
  thinkingLevels: [],
  include: "always",
  includes: ["always", "search", "manual"],
  sandbox: "off",
  sandboxes: ["off", "workspace", "read-only"],
};

/** For the answers that create a session. Clients that know config options leave the modes aside. */
export function settingsAnswer(view: SettingsView): {
  modes: acp.SessionModeState;
  configOptions: acp.SessionConfigOption[];
} {
  return { modes: modeState(view), configOptions: configOptions(view) };
}

type Choice = { value: string; name: string; description?: string | null };
type Described = { description?: string; category?: "mode" | "model" | "thought_level" };

export function configOptions(view: SettingsView): acp.SessionConfigOption[] {
  const { model, models, thinking, thinkingLevels } = view;
  const { currentModeId, availableModes } = modeState(view);
  const modes = availableModes.map(({ id, name, description = null }) => ({ value: id, name, description }));
  // A level of another model stays chosen: the nearest of this one is used.
  const levels = thinkingLevels.length === 0 ? [] : [...new Set(["default", ...thinkingLevels, thinking])];
  const named = (values: readonly string[], nameOf: (value: string) => string) =>
    values.map((value) => ({ value, name: nameOf(value) }));
  // Some clients show the name of the value and nothing else.
  const described = <T extends string>(what: string, values: readonly T[], words: Readonly<Record<T, string>>) =>
    values.map((value) => ({ value, name: `${what}: ${value}`, description: words[value] }));
  return [
    ...select("mode", "Mode", currentModeId, modes, { category: "mode" }),
    ...select(
      "model",
      "Model",
      model,
      named(models, (id) => id),
      { category: "model" },
    ),
    ...select(
      "thinking",
      "Thinking",
      thinking,
      named(levels, (level) => `Thinking: ${level}`),
      {
        description: "How much the model thinks before it answers",
        category: "thought_level",
      },
    ),
    ...select("include", "Tools of servers", view.include, described("Tools", view.includes, INCLUDES), {
      description: "How tools of MCP servers come before the model, where nothing else was said about them",
    }),
    ...select("sandbox", "Sandbox of servers", view.sandbox, described("Sandbox", view.sandboxes, SANDBOXES), {
      description: "The least sandbox of MCP servers that run on this machine; a change starts them anew",
    }),
  ];
}

/** None without choices. */
function select(
  id: string,
  name: string,
  currentValue: string | undefined,
  options: Choice[],
  more: Described,
): acp.SessionConfigOption[] {
  if (currentValue === undefined || options.length === 0) return [];
  return [{ id, name, ...more, type: "select", currentValue, options }];
}

const INCLUDES: Readonly<Record<SettingsView["include"], string>> = {
  always: "All of them are in front of the model, as far as there is room",
  search: "The model finds them by searching",
  manual: "Only those you add with /tools add",
};

const SANDBOXES: Readonly<Record<SettingsView["sandbox"], string>> = {
  off: "Each server runs as its own configuration says",
  workspace: "Servers write in the session's directories only; no network unless their configuration grants it",
  "read-only": "Servers write nowhere; no network unless their configuration grants it",
};

/** The settings a client was last sent, so that only changes are sent. */
export class EmittedSettings {
  #mode: string;
  #options: string;

  /** As the answer that created the session had them. */
  constructor(view: SettingsView) {
    this.#mode = view.mode;
    this.#options = JSON.stringify(configOptions(view));
  }

  updates(view: SettingsView): acp.SessionUpdate[] {
    const updates: acp.SessionUpdate[] = [];
    const options = configOptions(view);
    const written = JSON.stringify(options);
    if (view.mode !== this.#mode) updates.push({ sessionUpdate: "current_mode_update", currentModeId: view.mode });
    if (written !== this.#options) updates.push({ sessionUpdate: "config_option_update", configOptions: options });
    this.#mode = view.mode;
    this.#options = written;
    return updates;
  }
}

type ModeId = SettingsView["mode"];

const MODES: Readonly<Record<ModeId, Omit<acp.SessionMode, "id">>> = {
  ask: { name: "Ask", description: "Asks before anything is changed, run or sent, as your rules say" },
  plan: { name: "Plan", description: "Runs only tools that change nothing" },
  "auto-edit": { name: "Auto-edit", description: "Tenon's own edits of files are not asked about" },
  bypass: { name: "Bypass", description: "Nothing is asked, except what your rules deny" },
};

function modeState({ mode, modes }: Pick<SettingsView, "mode" | "modes">): acp.SessionModeState {
  return { currentModeId: mode, availableModes: modes.map((id) => ({ id, ...MODES[id] })) };
}

/**
 * With the answer that opens a session: the client's own servers, as they are at its beginning. Those of the configuration
 * are not read yet then.
 */
export function givenMeta({ servers, rejected }: ClientServers): ReturnType<typeof sentMeta> {
  const base = { origin: "client", toolCount: 0 } as const;
  const begun = servers.map(({ name }): ServerStatus => ({ ...base, name, state: "connecting" }));
  const failed = rejected.map(({ name, reason }): ServerStatus => ({ ...base, name, state: "failed", error: reason }));
  return sentMeta({ mcp: { servers: [...begun, ...failed] } });
}
