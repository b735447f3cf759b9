// The commands about this machine: what works, which models there are, editors, shells.
import { type Command, command, JSON_OPTION } from "./command.js";

export const DOCTOR: Command = command({
  name: "doctor",
  summary: "check everything a session here needs, and say what to do about what is wrong",
  details: [
    "Looks at Node, the configuration, model keys, every server (starting it), sandbox, keyring, kept data, and what an editor would see. Exit code 1 when something is wrong.",
  ],
  options: {
    json: JSON_OPTION,
    "no-connect": { type: "boolean", summary: "start no server" },
  },
  examples: [{ line: "tenon doctor", does: "ends with the commands that cure what it found" }],
  load: async () => (await import("../doctor/doctor.js")).runDoctor,
});

export const MODELS: Command = command({
  name: "models",
  summary: "the models there are keys for: window, price, and which one is used",
  details: ["Asks each provider that has a key for its list; those without are named with what is missing."],
  options: { json: JSON_OPTION },
  examples: [{ line: "tenon models --json", does: "prints what is known of each for programs" }],
  load: async () => (await import("../models/models.js")).runModels,
});

export const SETUP: Command = command({
  name: "setup",
  summary: "print, or write, what an editor needs to use Tenon",
  details: [
    "Prints it unless --write is given. Writing merges into the editor's file: comments, order and everything else in it stay as they are, and nothing is written when it is so already. The key of a model provider is set up by tenon acp --setup.",
  ],
  arguments: [{ name: "EDITOR", summary: "which one", choices: ["zed", "jetbrains", "neovim", "emacs", "vscode"] }],
  options: {
    json: JSON_OPTION,
    write: { type: "boolean", summary: "write it into the editor's own file (zed, jetbrains, vscode)" },
    file: { type: "string", value: "FILE", completes: "file", summary: "that file instead of the usual one" },
  },
  examples: [
    { line: "tenon setup zed", does: "prints the entry, and the file it belongs into" },
    { line: "tenon setup zed --write", does: "puts it there" },
  ],
  load: async () => (await import("../setup/setup.js")).runEditorSetup,
});

export const COMPLETION: Command = command({
  name: "completion",
  summary: "print what completes tenon's words in your shell",
  arguments: [{ name: "SHELL", summary: "which one", choices: ["bash", "zsh", "fish"] }],
  options: {
    names: {
      type: "string",
      value: "KIND",
      choices: ["server", "session"],
      isHidden: true,
      summary: "the names there are, for the script itself",
    },
  },
  examples: [
    { line: 'eval "$(tenon completion bash)"', does: "in ~/.bashrc" },
    { line: 'tenon completion zsh > "${fpath[1]}/_tenon"', does: "once, for zsh" },
    { line: "tenon completion fish > ~/.config/fish/completions/tenon.fish", does: "once, for fish" },
  ],
  load: async () => (await import("../completion/completion.js")).runCompletion,
});
