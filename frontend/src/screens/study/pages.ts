import { message } from "../../words/language";

/** The pages of a study, in the order in which they stand beside one another. */
export const STUDY_PAGES = [
  ["plan", message("Plan")],
  ["cohorts", message("Cohorts")],
  ["progress", message("Progress")],
  ["results", message("Results")],
  ["privacy", message("Privacy and traffic")],
  ["log", message("Log")],
] as const;
