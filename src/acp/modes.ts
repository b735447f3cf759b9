// The modes of a session as clients show them. The front answers with this, so it imports nothing heavy.
import type { SessionMode, SessionModeState } from "@agentclientprotocol/sdk";
import type { SettingsView } from "../session/index.js";

type ModeId = SettingsView["mode"];

const MODES: Readonly<Record<ModeId, Omit<SessionMode, "id">>> = {
  ask: { name: "Ask", description: "Asks before anything is changed, run or sent, as your rules say" },
  plan: { name: "Plan", description: "Runs only tools that change nothing" },
  "auto-edit": { name: "Auto-edit", description: "Tenon's own edits of files are not asked about" },
  bypass: { name: "Bypass", description: "Nothing is asked, except what your rules deny" },
};

export function modeState({ mode, modes }: Pick<SettingsView, "mode" | "modes">): SessionModeState {
  return { currentModeId: mode, availableModes: modes.map((id) => ({ id, ...MODES[id] })) };
}
