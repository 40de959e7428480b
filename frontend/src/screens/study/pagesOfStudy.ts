/** The pages that every study has, to be loaded together. */
export { Cohorts } from "./Cohorts";
export { Log } from "./Log";
export { PlanScreen } from "./PlanScreen";
export { Privacy } from "./Privacy";
export { ProgressScreen } from "./ProgressScreen";
export { StudyLayout, ToItsPage } from "./StudyLayout";
