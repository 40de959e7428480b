#!/bin/bash
# A cohort's part in a study as a batch job. Where a person is asked, do it first, on a node with a terminal:
#   export APPTAINER_BIND=/data:/data:ro
#   apptainer run unpooled-client.sif join invitation.txt --wait --state ~/asthma
#   apptainer run unpooled-client.sif check --state ~/asthma --bfile /data/cohort --pheno /data/asthma.pheno
#   apptainer run unpooled-client.sif review --state ~/asthma --html review.html
# Then nothing is asked any more:
#   sbatch packaging/slurm.sh
# The compute node needs one outbound HTTPS address; `doctor` says whether it has it. Where only a proxy leads out,
# set HTTPS_PROXY before sbatch.
#SBATCH --job-name=unpooled
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=1-00:00:00
#SBATCH --signal=INT@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=unpooled-%j.log
set -u
export APPTAINER_BIND=/data:/data:ro
srun apptainer run unpooled-client.sif run --state "$HOME/asthma" --out results --threads "$SLURM_CPUS_PER_TASK"
status=$?
# 5: interrupted, for the time was up. The job goes on where it was.
[ "$status" -eq 5 ] && scontrol requeue "$SLURM_JOB_ID"
exit "$status"
