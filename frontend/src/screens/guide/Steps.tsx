import { Link } from "react-router";
import { Rich } from "../../ui/Rich";

/** The screens in the order of a study. */
export function Steps() {
  return (
    <>
      <ol>
        <li>
          <Rich text="<strong>Agree on the question</strong>, outside of this application: which trait, how it is coded, which covariates with which names and units, which genome build, how genotypes were cleaned. Every cohort prepares its files by the same rules." />
        </li>
        <li>
          <Rich
            text="<a>New study.</a> Three parts: the question (variants or tables, trait), the model (test, covariates, result files) and the rules (how many cohorts, at least 3; the fewest people at each; PLINK’s filters on the pooled counts; masks). What you leave as it is suits most studies. What is not possible is said at its field."
            parts={{ a: <Link to="/studies/new" /> }}
          />
        </li>
        <li>
          <Rich text="<strong>Cohorts.</strong> Invite each cohort by name, such as its place. Its invitation is shown only once: hand it to the data manager as you would a password. If it is lost or went to the wrong person, issue it anew or revoke it." />
        </li>
        <li>
          <Rich text="<strong>Change the plan</strong> under Plan, if it has to be: a floor that a cohort misses, a forgotten covariate. It is possible until the first sum over the cohorts is asked for. All cohorts accept the changed plan again; their clients show what is different." />
        </li>
        <li>
          <Rich
            text="<strong>By telephone, compare</strong> with every cohort <a>the fingerprints</a>."
            parts={{ a: <Link to="#cohorts" /> }}
          />
        </li>
        <li>
          <Rich text="<strong>Start.</strong> By itself once every cohort is ready, unless the plan says that you start it. Until then the Cohorts page says who it is waiting for." />
        </li>
        <li>
          <Rich text="<strong>Progress.</strong> The steps, and a row per cohort: what it does, when it was last heard, who waits for whom. You can close the window; the study goes on. Pause stops the questions, Resume goes on, Abort ends the study without results. What only a sum shows ends it too. <strong>Change and repeat</strong> then makes a new study with the same cohorts and the plan as you mend it: each client, started again, shows what has changed and asks once." />
        </li>
        <li>
          <Rich
            text="<strong>Results.</strong> The numbers, the <a>pictures</a>, and the files as PLINK would have written them, with a list of the variants that were left out and why. Every cohort gets the same files."
            parts={{ a: <Link to="#pictures" /> }}
          />
        </li>
        <li>
          <Rich text="<strong>Privacy and traffic.</strong> What left each cohort, in which form, who could read it, and how much it was. <strong>Log.</strong> Who did what, and when. Both are for your ethics committee as much as for you." />
        </li>
      </ol>
      <p>
        <Rich
          text="Add colleagues who may watch, and change nothing, as observers on the page of the plan. An administrator makes their accounts under People. Old studies go to the archive, and come back from <a>there</a>. Your password is changed under <a2>your name</a2>."
          parts={{ a: <Link to="/?archived" />, a2: <Link to="/account" /> }}
        />
      </p>
    </>
  );
}
