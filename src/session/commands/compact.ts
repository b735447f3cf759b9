// `/compact`: makes room in the model's window.
import type { Command } from "./command.js";

export const compactCommand: Command = {
  name: "compact",
  description: "Summarises the conversation so far, to make room in the model's window",
  async run(_words, { compact }) {
    await compact();
    return "";
  },
};
