// What must hold of the terminal interface: `tenon chat` and `tenon attach` as a person meets them.

export const TERMINAL_REQUIREMENTS = [
  { id: "Z100", text: "text of several lines that is pasted is one prompt, and none of it is lost" },
  { id: "Z101", text: "a notice that comes while a wrapped prompt is typed leaves the prompt intact" },
  { id: "Z102", text: "after a change of the window's size the prompt and the answers are whole" },
  {
    id: "Z103",
    text: "wide characters and joined emoji have their right width, and ZWJ and ZWNJ are kept where script or emoji needs them",
  },
  {
    id: "Z104",
    text: "Ctrl-C clears the line and stops an answer; only two within 1.5 s quit, whatever was cancelled before; Esc stops an answer",
  },
  {
    id: "Z105",
    text: "the diff or the command is shown before the answer; an edit that cannot apply is not asked about; a no can carry words to the model",
  },
  { id: "Z106", text: "the plan is shown as a check list" },
  { id: "Z107", text: "what is typed while an answer runs is shown as a queue and sent afterwards" },
  {
    id: "Z108",
    text: "a session is gone on with after the chat was killed, by --continue and --resume; leaving prints the command; one that the gateway has is attached to",
  },
  {
    id: "Z109",
    text: "in plain mode (TERM=dumb, --plain) no escape sequence is written, lines are labelled and answers numbered",
  },
  {
    id: "Z110",
    text: "Markdown is shown as it streams, wrapped between words; escape sequences of a model are shown and not obeyed",
  },
  {
    id: "Z111",
    text: "the input line has several lines, history across chats with search, completion of commands and files, the person's editor, and commands of their own",
  },
  {
    id: "Z112",
    text: "the status line says model, mode, folder and branch, tokens and servers; Shift-Tab changes the mode",
  },
  {
    id: "Z113",
    text: "long results and thoughts are folded and Ctrl-O unfolds them; an outage is one line that counts down",
  },
  {
    id: "Z114",
    text: "one key press never grants more than its label says: whatever answer was given, a wider action is asked about again",
  },
  { id: "Z115", text: "text that was typed before a question came never answers it" },
  {
    id: "Z116",
    text: "piped input is the prompt or belongs to it; words are the first prompt; the bare word tenon opens the chat",
  },
  {
    id: "Z117",
    text: "an unknown command is refused and nothing is sent; /help lists the agent's commands and the prompts of servers",
  },
  {
    id: "Z118",
    text: "a picture of a tool is kept as a file whose path is shown, and the model is told what the person got",
  },
  {
    id: "Z120",
    text: "the first chat without a model offers providers, addresses and the offline model on one screen, and asks once",
  },
  {
    id: "Z121",
    text: "the chat's own commands do what they say: new, resume, sessions, export, copy, diff, undo, permissions, mode, thinking, init",
  },
  {
    id: "Z122",
    text: "pictures are drawn by the protocol that the terminal has (kitty, iTerm, sixel); pictures go into a prompt by their path and from the clipboard",
  },
  {
    id: "Z123",
    text: "with NO_COLOR nothing is coloured; links of an answer can be clicked (OSC 8) where colours are",
  },
  {
    id: "Z124",
    text: "tenon attach is the same interface, and --resume of a session that the gateway has attaches to it",
  },
  {
    id: "Z125",
    text: "with --json the last line of a run is one object with text, usage, cost and session id, whatever servers tell at their end",
  },
  { id: "Z119", text: "bell, title and desktop notice say that the chat asks, and can be switched off" },
] as const;
