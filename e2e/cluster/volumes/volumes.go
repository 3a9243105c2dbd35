// Package volumes makes the volumes of persistent volume claims: directories that everybody may write to, shared by the
// nodes of a zone as a cloud's disks are.
//
// Kubernetes' own provisioner of directories, in the controller manager, lets only root write, binds volumes before it is
// known where the pod will run, and knows no zones.
package volumes

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

const (
	// What the storage class calls it.
	name = "boson.local/volumes"
	// Where the controller manager says whose work a claim is.
	provisioner = "volume.kubernetes.io/storage-provisioner"
	// Where the scheduler says on which node the first pod will run.
	selectedNode = "volume.kubernetes.io/selected-node"
	// How soon is tried again what has failed.
	again = 2 * time.Second
)

type volumes struct {
	client    kubernetes.Interface
	directory string
}

// NewCommand is the component as a command.
func NewCommand() *cobra.Command {
	var kubeconfig, directory string
	command := &cobra.Command{
		Use:   "volumes",
		Short: "Makes the volumes of persistent volume claims",
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			return volumes{client, directory}.run(command.Context())
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	command.Flags().StringVar(&directory, "directory", "", "where the volumes are, on every node")
	return command
}

func (v volumes) run(ctx context.Context) error {
	factory := informers.NewSharedInformerFactory(v.client, again)
	claims := factory.Core().V1().PersistentVolumeClaims().Informer()
	if _, err := claims.AddEventHandler(each(ctx, v.provide)); err != nil {
		return err
	}
	made := factory.Core().V1().PersistentVolumes().Informer()
	if _, err := made.AddEventHandler(each(ctx, v.remove)); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	return nil
}

// Does something with each object whenever it changes, and now and then.
func each[T metav1.Object](ctx context.Context, do func(context.Context, T) error) cache.ResourceEventHandler {
	try := func(object any) {
		if err := do(ctx, object.(T)); err != nil {
			klog.ErrorS(err, "will be tried again", "object", object.(T).GetName())
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: try, UpdateFunc: func(_, object any) { try(object) }}
}

// Makes the volume of a claim, once it is known where it will be used.
func (v volumes) provide(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	node := claim.Annotations[selectedNode]
	if claim.Annotations[provisioner] != name || claim.Spec.VolumeName != "" || node == "" {
		return nil
	}
	on, err := v.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	volume := volumeOf(claim, on.Labels[v1.LabelTopologyZone], v.directory)
	path := volume.Spec.HostPath.Path
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	// Kubelet leaves the owners of such a directory as they are, and the umask has had its say.
	if err := os.Chmod(path, 0o777); err != nil {
		return err
	}
	_, err = v.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func volumeOf(claim *v1.PersistentVolumeClaim, zone, directory string) *v1.PersistentVolume {
	unique := "pvc-" + string(claim.UID)
	inZone := v1.NodeSelectorRequirement{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        unique,
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": name},
		},
		Spec: v1.PersistentVolumeSpec{
			StorageClassName:              *claim.Spec.StorageClassName,
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      claim.Spec.Resources.Requests,
			PersistentVolumeSource: v1.PersistentVolumeSource{
				HostPath: &v1.HostPathVolumeSource{Path: filepath.Join(directory, unique)},
			},
			ClaimRef: &v1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{inZone}}},
			}},
		},
	}
}

// Removes a volume whose claim is gone, with all that is in it.
func (v volumes) remove(ctx context.Context, volume *v1.PersistentVolume) error {
	ours := volume.Annotations["pv.kubernetes.io/provisioned-by"] == name
	if !ours || volume.Status.Phase != v1.VolumeReleased || volume.DeletionTimestamp != nil {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(v.directory, volume.Name)); err != nil {
		return err
	}
	err := v.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	if errors.IsNotFound(err) {
		return nil
	}
	return err
}
