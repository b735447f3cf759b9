// What must hold of running a recorded session again.

export const REPLAY_REQUIREMENTS = [
  {
    id: "Y1",
    text: "`tenon replay` of an unchanged recording finds no difference, starts nothing, sends nothing and changes no file",
  },
  { id: "Y2", text: "the first difference is named with its line, its place in the message, and both sides" },
  { id: "Y3", text: "a file that is no recording, or not a whole one, is refused with what is wrong with it" },
] as const;
