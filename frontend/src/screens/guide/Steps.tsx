import { Link } from "react-router";

/** The screens in the order of a study. */
export function Steps() {
  return (
    <>
      <ol>
        <li>
          <strong>Agree on the question</strong>, outside of this application: which trait, how it is coded,
          which covariates with which names and units, which genome build, how genotypes were cleaned. Every
          cohort prepares its files by the same rules.
        </li>
        <li>
          <strong>
            <Link to="/studies/new">New study</Link>.
          </strong>{" "}
          Three parts: the question (variants or tables, trait), the model (test, covariates, result files)
          and the rules (how many cohorts, at least 3; the fewest people at each; PLINK’s filters on the
          pooled counts; masks). What you leave as it is suits most studies. What cannot be is said at its
          field.
        </li>
        <li>
          <strong>Cohorts.</strong> Invite each cohort by name, such as its place. Its invitation is shown
          only once: hand it to the data manager as you would a password. If it is lost or went to the wrong
          person, issue it anew or revoke it. The plan can be changed until the first cohort joins; then it is
          frozen, and to change it you duplicate the study.
        </li>
        <li>
          <strong>By telephone, compare</strong> with every cohort <a href="#cohorts">the fingerprints</a>.
        </li>
        <li>
          <strong>Start.</strong> By itself once every cohort is ready, unless the plan says that you start
          it. Until then the Cohorts page says who it is waiting for.
        </li>
        <li>
          <strong>Progress.</strong> The steps, and a row per cohort: what it does, when it was last heard,
          who waits for whom. You can close the window; the study goes on. Pause stops the questions, Resume
          goes on, Abort ends the study without results.
        </li>
        <li>
          <strong>Results.</strong> The numbers, the <a href="#pictures">pictures</a>, and the files as PLINK
          would have written them, with a list of the variants that were left out and why. Every cohort gets
          the same files.
        </li>
        <li>
          <strong>Privacy and traffic.</strong> What left each cohort, in which form, who could read it, and
          how much it was. <strong>Log.</strong> Who did what, and when. Both are for your ethics committee as
          much as for you.
        </li>
      </ol>
      <p>
        Add colleagues who may watch, and change nothing, as observers on the page of the plan. An
        administrator makes their accounts under People. Old studies go to the archive, and come back from{" "}
        <Link to="/?archived">there</Link>. Your password is changed under{" "}
        <Link to="/account">your name</Link>.
      </p>
    </>
  );
}
